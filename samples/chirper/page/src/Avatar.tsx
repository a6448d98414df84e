/** A round picture made of a name: its first letter on a colour of its own. */
export function Avatar({ name, size = "normal" }: { name: string; size?: "small" | "normal" | "large" }) {
  return (
    <span className={`avatar ${size} hue${hue(name)}`} aria-hidden="true">
      {[...name.replaceAll("_", "")][0] ?? "_"}
    </span>
  );
}

/** One of twelve colours. */
function hue(name: string): number {
  let sum = 7;
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % 9973;
  return sum % 12;
}
