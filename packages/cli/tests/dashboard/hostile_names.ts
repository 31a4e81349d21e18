/** Names that try to leave the place where they are shown, or to lead somewhere else. */
export const HOSTILE_NAMES: readonly string[] = [
  "<script>globalThis.broken = 1</script>",
  '"><img src="/stolen" onerror="globalThis.broken = 1">',
  "' onmouseover='globalThis.broken = 1",
  "</title></table><script>globalThis.broken = 1</script>",
  "<!-- ",
  "&lt;b&gt;&amp;",
  "${7*7}{{7*7}}",
  "javascript:globalThis.broken=1",
  "\u0000",
  "zero\u0000byte",
  "invoice\u202egpj.exe",
  "\u2066isolated",
  "two  spaces and one behind ",
  "\nline\r\nbreaks\t",
  "no\u00a0break\u3164filler\ufeff",
  "..",
  ".",
  "a/../../b",
  "//example.com/x",
  "%2e%2e%2f",
  "100%",
  "a?name=b&name=c#d;e",
  "*",
  "constructor",
  "__proto__",
  "🔒é\u{e0001}",
  "\u05e9\u05dc\u05d5\u05dd ".repeat(15),
  "\u0641\u0627\u062a\u0648\u0631\u0629:12",
  "x".repeat(1_024),
  "ü".repeat(512),
];

/** Returns the beginning of a name in printable characters, for the name of a test. */
export function titleOf(name: string): string {
  return JSON.stringify(name).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .slice(0, 40);
}
