/** HTML that needs no escaping any more. Only {@linkcode html} makes it. */
export class Html {
  readonly text: string;

  /** Takes text that is HTML already. */
  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template of {@linkcode html}; `undefined` and `false` leave nothing. */
export type Content = Html | string | number | undefined | false | readonly Content[];

/** Makes HTML of a template. Whatever is put into it is escaped, unless it is HTML itself. Attributes need quotes. */
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
