/** Escaped HTML. Only {@linkcode html} makes it. */
export class Html {
  readonly text: string;

  /** Wraps text that is HTML already. */
  constructor(text: string) {
    this.text = text;
  }
}

/** The values that a template of {@linkcode html} takes; `undefined` and `false` leave nothing. */
export type Content = Html | string | number | undefined | false | readonly Content[];

/** Makes HTML of a template. Escapes every value, unless it is HTML itself. Attributes need quotes. */
export function html(strings: TemplateStringsArray, ...contents: Content[]): Html {
  return new Html(strings.reduce((text, next, i) => text + textOf(contents[i - 1]) + next));
}

function textOf(content: Content): string {
  if (content instanceof Html) return content.text;
  if (content === undefined || content === false) return "";
  if (typeof content === "string" || typeof content === "number") return escape(String(content));
  return content.map(textOf).join("");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}
