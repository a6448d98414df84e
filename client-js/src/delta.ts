/** How one result becomes the next: see docs/web-protocol.md. */
export type Delta =
  | { value: unknown }
  | { items: readonly ([from: number, count: number] | { add: readonly unknown[] })[] }
  | { fields: Readonly<Record<string, Delta>>; gone: readonly string[] };

/** The next result. What has not changed stays the same object. */
export function applied(delta: Delta, value: unknown): unknown {
  if ("value" in delta) {
    return delta.value;
  }
  if ("items" in delta) {
    const items = value as readonly unknown[];
    return delta.items.flatMap((part) => ("add" in part ? part.add : items.slice(part[0], part[0] + part[1])));
  }
  const fields = new Map(Object.entries(value as Record<string, unknown>));
  delta.gone.forEach((name) => fields.delete(name));
  Object.entries(delta.fields).forEach(([name, of]) => fields.set(name, applied(of, fields.get(name))));
  return Object.fromEntries(fields); // also a field "__proto__"
}
