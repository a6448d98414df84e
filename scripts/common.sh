# shellcheck shell=bash
# What run, test and bench share: finding the JDK and the tools, and running build steps that a signal can end.
# Written for bash 3.2 too, the one of macOS.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

jdk_needed=25
node_needed=20.19

say() { printf '%s\n' "$*" >&2; }

die() {
  say "$0: $*"
  exit 1
}

# Prints the major version of the JDK in folder $1, or nothing when there is no JDK.
jdk_major() {
  local version
  [ -x "$1/bin/java" ] && [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return 0
  version=$(sed -n 's/^JAVA_VERSION="\{0,1\}\([0-9][0-9]*\).*/\1/p' "$1/release")
  printf '%s' "${version%%$'\n'*}"
}

# Prints the home of a JDK that is new enough: JAVA_HOME's, then PATH's, then of the usual folders' the oldest such one,
# as it is nearest to what is tested. Only files are read, as starting every JVM takes seconds. Tests set jdk_prefix, which stands
# before the usual folders.
find_jdk() {
  local prefix=${jdk_prefix-} home java major best='' best_major=''
  java=$(command -v java) && java=$(readlink -f "$java" 2>/dev/null) || java=''
  for home in "${JAVA_HOME-}" "${java%/bin/java}"; do
    major=$(jdk_major "$home")
    if [ -n "$major" ] && [ "$major" -ge "$jdk_needed" ]; then
      printf '%s' "$home"
      return 0
    fi
  done
  for home in "$prefix"/usr/lib/jvm/* "$prefix"/usr/java/* "$prefix"/usr/local/* "$prefix"/opt/* "$prefix"/opt/java/* \
    "${HOME-}"/.sdkman/candidates/java/* "${HOME-}"/.jdks/* \
    "${HOME-}"/Library/Java/JavaVirtualMachines/*/Contents/Home "$prefix"/Library/Java/JavaVirtualMachines/*/Contents/Home \
    "$prefix"/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home; do
    major=$(jdk_major "$home")
    if [ -n "$major" ] && [ "$major" -ge "$jdk_needed" ] && { [ -z "$best" ] || [ "$major" -lt "$best_major" ]; }; then
      best=$home
      best_major=$major
    fi
  done
  [ -n "$best" ] && printf '%s' "$best"
}

# Sets JAVA_HOME, for Maven too: its own JDK warns of what Maven 3.8's libraries do, which is nothing to act upon here.
use_jdk() {
  JAVA_HOME=$(find_jdk) || die "needs a JDK $jdk_needed or newer, and found none in JAVA_HOME, PATH and the usual folders:" \
    "install one (such as Eclipse Temurin $jdk_needed) or set JAVA_HOME to it"
  export JAVA_HOME
  export MAVEN_OPTS="--sun-misc-unsafe-memory-access=allow --enable-native-access=ALL-UNNAMED ${MAVEN_OPTS-}"
}

# Installs Debian packages, when we may: as root, or by a sudo that asks for nothing.
apt_install() {
  local as_root=()
  command -v apt-get >/dev/null || return 1
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  ${as_root[@]+"${as_root[@]}"} true 2>/dev/null || return 1
  say "installing $*…"
  if [ -z "${apt_updated-}" ]; then
    step "$root/target/apt-update.log" ${as_root[@]+"${as_root[@]}"} apt-get update || return 1
    apt_updated=yes
  fi
  step "$root/target/apt-install.log" ${as_root[@]+"${as_root[@]}"} \
    env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600 "$@"
}

# need COMMAND PACKAGE...: sees to it that the command exists.
need() {
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  apt_install "$@" && command -v "$command" >/dev/null && return
  die "needs $command: install it (Debian: apt-get install $*)"
}

need_maven() { need mvn maven; }

# The tests start a server of their own. Debian keeps its programs out of the path. Tests set postgres_prefix.
need_postgres() {
  local initdb
  for initdb in "${postgres_prefix-/usr/lib/postgresql}"/*/bin/initdb; do
    [ ! -x "$initdb" ] || return 0
  done
  command -v initdb >/dev/null || apt_install postgresql ||
    say "PostgreSQL is not there and could not be installed: what needs it will be skipped (Debian: apt-get install postgresql)"
}

# want COMMAND PACKAGE: something that only some tests and measurements need.
want() {
  command -v "$1" >/dev/null || apt_install "$2" ||
    say "$1 is not there and could not be installed: what needs it will be skipped (Debian: apt-get install $2)"
}

need_node() {
  local found
  need node nodejs
  need npm npm
  found=$(node --version)
  is_version_at_least "$node_needed" "${found#v}" ||
    die "needs Node.js $node_needed or newer, and found ${found#v}: install a newer one"
}

# is_version_at_least NEEDED FOUND, by their first two numbers.
is_version_at_least() {
  local needed=$1. found=$2. needed_rest found_rest
  needed_rest=${needed#*.}
  found_rest=${found#*.}
  [ "${found%%.*}" -gt "${needed%%.*}" ] ||
    { [ "${found%%.*}" -eq "${needed%%.*}" ] && [ "${found_rest%%.*}" -ge "${needed_rest%%.*}" ]; }
}

# step LOG COMMAND...: runs a build step and returns its exit code. Its output goes to LOG, and to the screen as well if
# `loud` is set; if it fails quietly the screen shows it then. Ctrl-C and SIGTERM end the step, then this script.
step() {
  local log=$1 code=0 tee=''
  shift
  mkdir -p "${log%/*}"
  if [ -n "${loud-}" ]; then
    rm -f "$log.pipe"
    mkfifo "$log.pipe"
    tee "$log" <"$log.pipe" &
    tee=$!
    "$@" >"$log.pipe" 2>&1 </dev/null &
  else
    "$@" >"$log" 2>&1 </dev/null &
  fi
  child=$!
  trap 'end_step 130' INT
  trap 'end_step 143' TERM
  wait "$child" || code=$?
  if [ -n "$tee" ]; then
    finish_tee "$tee"
    rm -f "$log.pipe"
  elif [ "$code" != 0 ]; then
    cat "$log" >&2
  fi
  trap - INT TERM
  return "$code"
}

end_step() {
  trap '' INT TERM
  kill -TERM "$child" 2>/dev/null
  wait "$child"
  exit "$1"
}

# The last lines must be out before the next step prints, but a process that a test left behind may hold the pipe open for ever.
finish_tee() {
  local i
  for ((i = 0; i < 50; i++)); do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.1
  done
  kill "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

# in_folder FOLDER COMMAND...: for steps, which are subshells.
in_folder() {
  cd "$1" || exit
  shift
  exec "$@"
}

# Prints a fingerprint of the names and contents of the checkout's given files and folders, as far as they exist, but for
# what builds make.
fingerprint() {
  (
    cd "$root" || exit
    { find "$@" \( -name node_modules -o -name target -o -name dist \) -prune -o -type f -print0 2>/dev/null || true; } |
      LC_ALL=C sort -z | xargs -0 cksum | cksum
  )
}

# is_stamped FILE FINGERPRINT: whether the last build that left FILE was of these very sources.
is_stamped() { [ -r "$1" ] && [ "$(cat "$1")" = "$2" ]; }

modules() { sed -n 's:.*<module>\(.*\)</module>.*:\1:p' "$root/pom.xml"; }

# The folders of the npm packages that exist: the client first, as the pages are made with it.
packages() {
  local folder
  for folder in client-js samples/chirper/page samples/start/page; do
    [ ! -f "$root/$folder/package.json" ] || printf '%s\n' "$folder"
  done
}

# npm_install FOLDER LOG: installs the packages of the folder's lock file, if it changed since the last time.
npm_install() {
  local folder=$root/$1 mark
  mark=$(cksum <"$folder/package-lock.json")
  if is_stamped "$folder/node_modules/.evergreen" "$mark"; then
    return
  fi
  # The second try is for a fetch that failed.
  step "$2" in_folder "$folder" npm ci --no-audit --no-fund || step "$2" in_folder "$folder" npm ci --no-audit --no-fund || return
  mkdir -p "$folder/node_modules"
  printf '%s\n' "$mark" >"$folder/node_modules/.evergreen"
}

# Prints what to expect of a build whose FOLDER is not there yet.
patience() { [ -d "$1" ] || printf ', which takes a few minutes the first time'; }

# Builds the page, and the client that it uses, unless that is done.
build_page() {
  local page=samples/chirper/page folder mark parts=(client-js samples/chirper/page)
  [ -f "$root/$page/package.json" ] || return 0
  mark=$(fingerprint "${parts[@]}")
  if [ -d "$root/$page/dist" ] && is_stamped "$root/$page/node_modules/.evergreen-built" "$mark"; then
    return
  fi
  need_node
  say "building the page$(patience "$root/$page/node_modules")…"
  for folder in "${parts[@]}"; do
    { npm_install "$folder" "$root/target/npm-install.log" &&
      step "$root/target/npm-build.log" in_folder "$root/$folder" npm run build --if-present; } ||
      die "$folder could not be built; the reason stands above"
  done
  printf '%s\n' "$mark" >"$root/$page/node_modules/.evergreen-built"
}

# build_module MODULE [MAVEN OPTION...]: compiles a module and what it needs unless that is done, and leaves the class path
# of what it needs in its target/classpath. The page counts, as Maven copies it to Chirper's classes.
build_module() {
  local module=$1 target=$root/$1/target mark
  shift
  # shellcheck disable=SC2046 # one word per folder
  mark=$(fingerprint pom.xml .mvn $(modules | sed 's:$:/pom.xml:') $(modules | sed 's:$:/src:') $(packages))
  if is_stamped "$target/built" "$mark" && has_class_path "$target/classpath"; then
    return
  fi
  need_maven
  say "building the server$(patience "$target")…"
  rm -f "$target/built"
  # Up to test-compile and not to package: Maven 3.8 then takes the modules' class folders, those of test support too.
  step "$root/target/build.log" in_folder "$root" mvn -B -ntp -pl "$module" -am -Dspotless.check.skip=true "$@" \
    -Dmdep.outputFile=target/classpath -DincludeScope=runtime test-compile dependency:build-classpath ||
    die "$module could not be built; the reason stands above"
  printf '%s\n' "$mark" >"$target/built"
}

# Whether FILE's class path is there, and all that it names: somebody may have emptied Maven's local repository.
has_class_path() {
  local entry
  [ -r "$1" ] || return
  while IFS= read -r entry; do
    [ -z "$entry" ] || [ -e "$entry" ] || return
  done < <(tr ':' '\n' <"$1")
}

# start_java MODULE MAIN_CLASS [ARGUMENT...]: this process becomes the JVM, so signals reach it. A module may have flags of
# its own, in scripts/MODULE.options. Those of a script, in the array java_flags, count more.
java_flags=()
start_java() {
  local module=$root/$1 own=$root/scripts/${1//\//-}.options become=() options=()
  shift
  [ ! -f "$own" ] || options=("@$own")
  # A script's background commands ignore SIGINT, and only GNU's env can undo that.
  if env --default-signal=INT true 2>/dev/null; then
    become=(env --default-signal=INT)
  fi
  exec ${become[@]+"${become[@]}"} "$JAVA_HOME/bin/java" "@$root/scripts/java.options" \
    ${options[@]+"${options[@]}"} ${java_flags[@]+"${java_flags[@]}"} -cp "$module/target/classes:$(cat "$module/target/classpath")" "$@"
}
