/** A value of Lua; `undefined` is nil. */
export type Value = undefined | boolean | number | string | Table | LuaFunction;

/** A function of Lua, or one that the host gives to it. */
export type LuaFunction = (...args: Value[]) => Value[];

/** An error that Lua code has raised, with what it was raised with. */
export class LuaError extends Error {
  readonly value: Value;

  constructor(value: Value) {
    super(value instanceof Table ? text(value.get("err") ?? "a table") : text(value));
    this.name = "LuaError";
    this.value = value;
  }
}

/** A table of Lua. */
export class Table {
  /** What stands at 1, 2, 3 …, without a gap. */
  readonly list: Value[] = [];
  readonly #others = new Map<Value, Value>();

  /** Makes a table with these values at 1, 2, 3 … */
  constructor(values: readonly Value[] = []) {
    for (const [i, value] of values.entries()) this.set(i + 1, value);
  }

  /** How many values stand at 1, 2, 3 …, up to the first nil. */
  get length(): number {
    return this.list.length;
  }

  get(key: Value): Value {
    return typeof key === "number" && this.#inList(key) ? this.list[key - 1] : this.#others.get(key);
  }

  set(key: Value, value: Value): void {
    if (key === undefined || Number.isNaN(key)) throw new LuaError("index is nil or NaN");
    const { list } = this;
    if (typeof key === "number" && this.#inList(key)) {
      if (value !== undefined) list[key - 1] = value;
      // What stands behind a gap is not in the list any more.
      else for (const [i, moved] of list.splice(key - 1).entries()) if (i > 0) this.#others.set(key + i, moved);
    } else if (value === undefined) this.#others.delete(key);
    else if (key === list.length + 1) {
      list.push(value);
      this.#others.delete(key);
      for (let next = key + 1; this.#others.has(next); next++) {
        list.push(this.#others.get(next));
        this.#others.delete(next);
      }
    } else this.#others.set(key, value);
  }

  /** Returns all keys, in an order that stays the same while only values change. */
  keys(): Value[] {
    return [...this.list.keys().map((i) => i + 1), ...this.#others.keys()];
  }

  #inList(key: number): boolean {
    return Number.isInteger(key) && key >= 1 && key <= this.list.length;
  }
}

/** Returns whether a value counts as true. */
export function truth(value: Value): boolean {
  return value !== undefined && value !== false;
}

/** Returns a value as a number, as arithmetic takes it; `undefined` when it is none. */
export function numeric(value: Value): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  // As in Lua 5.1, what stands behind a NUL is not seen.
  const [trimmed = ""] = value.trimStart().split("\0").map((text) => text.trimEnd());
  if (!/^[-+]?(0x[\da-f]+|\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?|inf|nan)$/i.test(trimmed)) return undefined;
  if (/^[-+]?inf$/i.test(trimmed)) return trimmed.startsWith("-") ? -Infinity : Infinity;
  const negative = trimmed.startsWith("-");
  const number = Number(trimmed.replace(/^[-+]/, ""));
  return negative ? -number : number;
}

/** Returns a number as C's `%.{precision}g` writes it. */
export function general(number: number, precision: number): string {
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  if (number === 0) return Object.is(number, -0) ? "-0" : "0";
  const [mantissa = "", exponent = ""] = number.toExponential(precision - 1).split("e");
  const power = Number(exponent);
  if (power >= -4 && power < precision) {
    const fixed = number.toFixed(Math.max(0, precision - 1 - power));
    return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
  }
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return `${short}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** Returns a value as `tostring` and `..` write it: numbers with 14 digits, as Lua 5.1 does. */
export function text(value: Value): string {
  if (typeof value === "number") return general(value, 14);
  if (value === undefined) return "nil";
  if (typeof value === "object" || typeof value === "function") return typeOf(value);
  return String(value);
}

/** Returns the name of a value's type. */
export function typeOf(value: Value): string {
  if (value === undefined) return "nil";
  return typeof value === "object" ? "table" : typeof value;
}
