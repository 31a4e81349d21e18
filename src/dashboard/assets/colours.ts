/** The colours of one theme. */
export interface Palette {
  /** The ground of the page, and that of the head row of tables and of fields. */
  readonly ground: string;
  readonly raised: string;
  readonly text: string;
  readonly quiet: string;
  readonly link: string;
  /** The lines between rows, and the border of what can be used. */
  readonly line: string;
  readonly border: string;
  /** The ring around what has the focus, and what is left of a lease. */
  readonly accent: string;
  /** A button that takes something away. */
  readonly danger: string;
  readonly onDanger: string;
  /** A fault, and what was done. */
  readonly fault: string;
  readonly done: string;
}

/** The colours of the pages: text has a contrast of at least 4.5 to 1 to its ground, what can be used one of 3 to 1. */
export const COLOURS: Readonly<Record<"light" | "dark", Palette>> = {
  light: {
    ground: "#ffffff",
    raised: "#f2f4f7",
    text: "#1a1f26",
    quiet: "#545d69",
    link: "#0b50b8",
    line: "#d5dae1",
    border: "#7b8592",
    accent: "#1a66d6",
    danger: "#b3261e",
    onDanger: "#ffffff",
    fault: "#a3211a",
    done: "#17653a",
  },
  dark: {
    ground: "#12161c",
    raised: "#1d232c",
    text: "#e7ebf0",
    quiet: "#a3adb9",
    link: "#8ab8ff",
    line: "#333c48",
    border: "#7d8896",
    accent: "#5b9dff",
    danger: "#ff9b92",
    onDanger: "#3a0300",
    fault: "#ffa49c",
    done: "#83d6a4",
  },
};
