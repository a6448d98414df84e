# shellcheck shell=bash
# For ./evergreen new. To be sourced after common.sh, which knows where the checkout is.
# shellcheck disable=SC2154

new_usage() {
  cat <<'END'
usage: ./evergreen new DIR

Makes a project of your own in the folder DIR, which must not exist or be empty: a grain, a live view and a page in React, with their tests.
Evergreen itself comes along in its folder lib, as it is in no registry. DIR's README.md says how to go on.
END
}

# The modules whose jars a project needs.
new_modules=(storage web)

# with_needed MODULE...: these and the modules of ours that they need at run time, those of those included; one a line.
with_needed() {
  local module
  for module in "$@"; do
    printf '%s\n' "$module"
    # shellcheck disable=SC2046 # Names of modules have no blanks.
    with_needed $(tr -d '\n' <"$root/$module/pom.xml" | sed 's:</dependency>:\n:g' |
      sed -n '/<scope>test/d; s:.*<groupId>dev\.evergreen</groupId> *<artifactId>evergreen-\([a-z-]*\)</artifactId>.*:\1:p' |
      grep -vx parent)
  done | sort -u
}

# new_project DIR: makes a project of samples/start, named after its folder.
new_project() {
  local target=$1 name
  case $target in -h | --help) new_usage && return ;; -*) die "knows no option '$target'; see ./evergreen new --help" ;; esac
  [ ! -e "$target" ] || [ -z "$(ls -A "$target")" ] || die "makes nothing in $target: something is there already"
  name=$(project_name "$target")
  need_maven
  need_node
  build_module storage -Dmaven.test.skip=true
  build_module web -Dmaven.test.skip=true
  mkdir -p "$target"
  target=$(cd "$target" && pwd)
  copy_project "$target" "$name"
  copy_jars "$target/lib/maven"
  pack_client "$target/lib"
  say "$name is in $target; its README.md says how to go on"
}

# What the last part of the folder's name is in Maven, npm and the page.
project_name() {
  local name
  name=$(basename "$1" | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9\n' '-' | sed 's/^-*//; s/-*$//')
  [ -n "$name" ] || die "makes a name of the folder's, which needs a letter or a digit: '$1'"
  printf '%s\n' "$name"
}

# copy_project TARGET NAME
copy_project() {
  local target=$1 name=$2 file
  (cd "$root/samples/start" && find . \( -name node_modules -o -name target -o -name dist -o -name data -o -name package-lock.json \) -prune \
    -o -type f -print) | while IFS= read -r file; do
    mkdir -p "$target/$(dirname "$file")"
    sed -e "s/evergreen-start/$name/g" -e 's|file:../../../client-js|file:../lib/evergreen-client.tgz|' \
      "$root/samples/start/$file" >"$target/$file"
  done
}

# copy_jars FOLDER: as Maven's own repositories are laid out.
copy_jars() {
  local module version place
  version=$(sed -n 's:.*<version>\(.*\)</version>.*:\1:p' "$root/pom.xml" | head -n 1)
  place=$1/dev/evergreen/evergreen-parent/$version
  mkdir -p "$place"
  cp "$root/pom.xml" "$place/evergreen-parent-$version.pom"
  for module in $(with_needed "${new_modules[@]}"); do
    place=$1/dev/evergreen/evergreen-$module/$version
    mkdir -p "$place"
    "$JAVA_HOME/bin/jar" --create --file "$place/evergreen-$module-$version.jar" -C "$root/$module/target/classes" .
    cp "$root/$module/pom.xml" "$place/evergreen-$module-$version.pom"
  done
}

# pack_client FOLDER: the page's package, built.
pack_client() {
  local made
  npm_install client-js "$root/target/npm-install.log" || die "client-js could not be installed; the reason stands above"
  made=$root/target/new-client
  rm -rf "$made"
  mkdir -p "$made"
  step "$root/target/new-npm.log" in_folder "$root/client-js" npm pack --pack-destination "$made" ||
    die "client-js could not be packed; the reason stands above"
  mv "$made"/evergreen-client-*.tgz "$1/evergreen-client.tgz"
}
