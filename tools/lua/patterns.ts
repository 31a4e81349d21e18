/** Where a pattern was found, and what its captures are; a capture of a position is a number. */
export interface Match {
  readonly start: number;
  readonly end: number;
  readonly captures: readonly (string | number)[];
}

interface Capture {
  readonly start: number;
  length: number | "open" | "position";
}

/** Finds a pattern of Lua 5.1 in a text from a place on; places count from 0. */
export function find(text: string, pattern: string, from: number): Match | undefined {
  const anchored = pattern.startsWith("^");
  for (let start = from; start <= text.length; start++) {
    const matcher = new Matcher(text, pattern);
    const end = matcher.match(start, anchored ? 1 : 0);
    if (end !== undefined) return { start, end, captures: matcher.captured() };
    if (anchored) return undefined;
  }
  return undefined;
}

/** As the reference implementation does it, by going back. */
class Matcher {
  readonly #text: string;
  readonly #pattern: string;
  readonly #captures: Capture[] = [];

  constructor(text: string, pattern: string) {
    this.#text = text;
    this.#pattern = pattern;
  }

  captured(): (string | number)[] {
    return this.#captures.map(({ start, length }) => {
      if (length === "position") return start + 1;
      if (length === "open") throw new Error("unfinished capture");
      return this.#text.slice(start, start + length);
    });
  }

  /** Returns the end of what matches from a place in the text and one in the pattern on. */
  match(at: number, place: number): number | undefined {
    const pattern = this.#pattern;
    if (place >= pattern.length) return at;
    const char = pattern[place];
    if (char === "(") return this.#open(at, place);
    if (char === ")") return this.#close(at, place);
    if (char === "$" && place + 1 === pattern.length) return at === this.#text.length ? at : undefined;
    if (char === "%" && /[bf]/.test(pattern[place + 1] ?? "")) throw new Error(`not supported: ${pattern}`);
    if (char === "%" && /\d/.test(pattern[place + 1] ?? "")) return this.#again(at, place);
    const after = this.#after(place);
    switch (pattern[after]) {
      case "?": {
        const with_ = this.#single(at, place, after) ? this.match(at + 1, after + 1) : undefined;
        return with_ ?? this.match(at, after + 1);
      }
      case "*":
        return this.#longest(at, at, place, after);
      case "+":
        return this.#single(at, place, after) ? this.#longest(at, at + 1, place, after) : undefined;
      case "-":
        return this.#shortest(at, place, after);
      default:
        return this.#single(at, place, after) ? this.match(at + 1, after) : undefined;
    }
  }

  #open(at: number, place: number): number | undefined {
    const position = this.#pattern[place + 1] === ")";
    this.#captures.push({ start: at, length: position ? "position" : "open" });
    const end = this.match(at, place + (position ? 2 : 1));
    if (end === undefined) this.#captures.pop();
    return end;
  }

  #close(at: number, place: number): number | undefined {
    const open = this.#captures.findLast(({ length }) => length === "open");
    if (open === undefined) throw new Error("invalid pattern capture");
    open.length = at - open.start;
    const end = this.match(at, place + 1);
    if (end === undefined) open.length = "open";
    return end;
  }

  #again(at: number, place: number): number | undefined {
    const { start, length } = this.#captures[Number(this.#pattern[place + 1]) - 1] ?? { start: 0, length: "open" };
    if (typeof length !== "number") throw new Error("invalid capture index");
    const captured = this.#text.slice(start, start + length);
    return this.#text.startsWith(captured, at) ? this.match(at + length, place + 2) : undefined;
  }

  #longest(from: number, at: number, place: number, after: number): number | undefined {
    let end = at;
    while (this.#single(end, place, after)) end++;
    for (; end >= Math.max(from, at); end--) {
      const matched = this.match(end, after + 1);
      if (matched !== undefined) return matched;
    }
    return undefined;
  }

  #shortest(at: number, place: number, after: number): number | undefined {
    for (let end = at;; end++) {
      const matched = this.match(end, after + 1);
      if (matched !== undefined) return matched;
      if (!this.#single(end, place, after)) return undefined;
    }
  }

  /** Returns where the pattern of one character ends. */
  #after(place: number): number {
    const pattern = this.#pattern;
    if (pattern[place] === "%") return place + 2;
    if (pattern[place] !== "[") return place + 1;
    let end = place + (pattern[place + 1] === "^" ? 2 : 1);
    // The first one stands for itself, even if it is a bracket.
    do {
      if (end >= pattern.length) throw new Error("malformed pattern");
      end += pattern[end] === "%" ? 2 : 1;
    } while (pattern[end] !== "]");
    return end + 1;
  }

  #single(at: number, place: number, after: number): boolean {
    const char = this.#text[at];
    if (char === undefined) return false;
    const pattern = this.#pattern;
    if (pattern[place] === ".") return true;
    if (pattern[place] === "%") return isOf(char, pattern[place + 1]!);
    if (pattern[place] === "[") return this.#inSet(char, place, after - 1);
    return pattern[place] === char;
  }

  #inSet(char: string, place: number, end: number): boolean {
    const pattern = this.#pattern;
    const negated = pattern[place + 1] === "^";
    for (let i = place + (negated ? 2 : 1); i < end; i++) {
      if (pattern[i] === "%") {
        if (isOf(char, pattern[++i]!)) return !negated;
      } else if (pattern[i + 1] === "-" && i + 2 < end) {
        if (pattern[i]! <= char && char <= pattern[i + 2]!) return !negated;
        i += 2;
      } else if (pattern[i] === char) return !negated;
    }
    return negated;
  }
}

const CLASSES: Readonly<Record<string, RegExp>> = {
  a: /[A-Za-z]/,
  c: /\p{Cc}/u,
  d: /[0-9]/,
  l: /[a-z]/,
  p: /[!-/:-@[-`{-~]/,
  s: /[\t-\r ]/,
  u: /[A-Z]/,
  w: /[A-Za-z0-9]/,
  x: /[A-Fa-f0-9]/,
  z: /\0/,
};

/**
 * Returns whether a character is of a class, such as `%d`, or not, such as `%D`; other characters stand for themselves.
 */
function isOf(char: string, name: string): boolean {
  const known = CLASSES[name.toLowerCase()];
  if (known === undefined) return name === char;
  return known.test(char) === (name === name.toLowerCase());
}
