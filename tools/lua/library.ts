import { find, type Match } from "./patterns.ts";
import { LuaError, type LuaFunction, numeric, Table, text, truth, typeOf, type Value } from "./values.ts";

/** Returns the globals that Lua scripts of Redis find, but for what the server gives them. */
export function library(): Map<string, Value> {
  return new Map<string, Value>([
    ["string", module(STRINGS)],
    ["table", module(TABLES)],
    ["math", module(MATH)],
    ...Object.entries(BASICS),
  ]);
}

function module(functions: Readonly<Record<string, LuaFunction>>): Table {
  const table = new Table();
  for (const [name, run] of Object.entries(functions)) table.set(name, run);
  return table;
}

/** Returns a number, or an error as Lua's functions raise it. */
function numberOf(value: Value): number {
  const number = numeric(value);
  if (number === undefined) throw new LuaError(`number expected, got ${typeOf(value)}`);
  return number;
}

function stringOf(value: Value): string {
  if (typeof value !== "string" && typeof value !== "number") {
    throw new LuaError(`string expected, got ${typeOf(value)}`);
  }
  return text(value);
}

function tableOf(value: Value): Table {
  if (!(value instanceof Table)) throw new LuaError(`table expected, got ${typeOf(value)}`);
  return value;
}

/** Returns a place in a text that counts from 1, or from the end when it is negative, as one that counts from 0. */
function placeOf(value: Value, length: number, otherwise: number): number {
  const place = value === undefined ? otherwise : numberOf(value);
  return Math.max(0, place < 0 ? length + place : place - 1);
}

function captures(match: Match, source: string): Value[] {
  return match.captures.length > 0 ? [...match.captures] : [source.slice(match.start, match.end)];
}

const BASICS: Readonly<Record<string, LuaFunction>> = {
  assert: (value, message, ...rest) => {
    if (!truth(value)) throw new LuaError(message ?? "assertion failed!");
    return [value, message, ...rest];
  },
  error: (value) => {
    throw new LuaError(value);
  },
  ipairs: (list) => {
    const table = tableOf(list);
    const step: LuaFunction = (_, i) => {
      const next = numberOf(i) + 1;
      const value = table.get(next);
      return value === undefined ? [undefined] : [next, value];
    };
    return [step, table, 0];
  },
  next: (table, key) => {
    const keys = tableOf(table).keys();
    const next = keys[key === undefined ? 0 : keys.indexOf(key) + 1];
    return next === undefined ? [undefined] : [next, tableOf(table).get(next)];
  },
  pairs: (list) => {
    const table = tableOf(list);
    const keys = table.keys().values();
    const step: LuaFunction = () => {
      for (const key of keys) {
        const value = table.get(key);
        if (value !== undefined) return [key, value];
      }
      return [undefined];
    };
    return [step, table, undefined];
  },
  pcall: (run, ...args) => {
    try {
      return [true, ...(run as LuaFunction)(...args)];
    } catch (error) {
      if (error instanceof LuaError) return [false, error.value];
      throw error;
    }
  },
  select: (which, ...args) => which === "#" ? [args.length] : args.slice(numberOf(which) - 1),
  tonumber: (value, base) => {
    if (base === undefined) return [numeric(value)];
    const digits = stringOf(value).trim();
    const number = Number.parseInt(digits, numberOf(base));
    return [Number.isNaN(number) ? undefined : number];
  },
  tostring: (value) => [text(value)],
  type: (value) => [typeOf(value)],
  unpack: (list, from = 1, to = tableOf(list).length) => {
    const table = tableOf(list);
    const values: Value[] = [];
    for (let i = numberOf(from); i <= numberOf(to); i++) values.push(table.get(i));
    return values;
  },
};

const STRINGS: Readonly<Record<string, LuaFunction>> = {
  byte: (source, place = 1) => {
    const string = stringOf(source);
    const at = placeOf(place, string.length, 1);
    return at < string.length ? [string.charCodeAt(at)] : [];
  },
  find: (source, pattern, from, plain) => {
    const string = stringOf(source);
    const wanted = stringOf(pattern);
    const start = placeOf(from, string.length, 1);
    if (truth(plain)) {
      const at = start > string.length ? -1 : string.indexOf(wanted, start);
      return at < 0 ? [undefined] : [at + 1, at + wanted.length];
    }
    const match = find(string, wanted, start);
    return match === undefined ? [undefined] : [match.start + 1, match.end, ...match.captures];
  },
  format: (format, ...args) => {
    let next = 0;
    const written = stringOf(format).replace(
      /%([-0 #+]*\d*)(?:\.(\d+))?([%a-zA-Z])/g,
      (all, flags, precision, type) => {
        if (type === "%") return "%";
        if (flags !== "") throw new LuaError(`not supported: ${all}`);
        const value = args[next++];
        if (type === "s") return text(value);
        if (type === "d") return String(Math.trunc(numberOf(value)));
        if (type === "f") return fixed(numberOf(value), precision === undefined ? 6 : Number(precision));
        throw new LuaError(`not supported: ${all}`);
      },
    );
    return [written];
  },
  gmatch: (source, pattern) => {
    const string = stringOf(source);
    let from = 0;
    return [() => {
      const match = from > string.length ? undefined : find(string, stringOf(pattern), from);
      if (match === undefined) return [undefined];
      from = match.end > match.start ? match.end : match.end + 1;
      return captures(match, string);
    }];
  },
  gsub: (source, pattern, replacement, limit = Infinity) => {
    const string = stringOf(source);
    let written = "";
    let from = 0;
    let times = 0;
    for (; times < numberOf(limit) && from <= string.length; times++) {
      const match = find(string, stringOf(pattern), from);
      if (match === undefined) break;
      const found = string.slice(match.start, match.end);
      written += string.slice(from, match.start) + replaced(replacement, match, string, found);
      from = match.end;
      if (match.end === match.start) written += string[from++] ?? "";
    }
    return [written + string.slice(from), times];
  },
  len: (source) => [stringOf(source).length],
  lower: (source) => [stringOf(source).toLowerCase()],
  match: (source, pattern, from) => {
    const string = stringOf(source);
    const match = find(string, stringOf(pattern), placeOf(from, string.length, 1));
    return match === undefined ? [undefined] : captures(match, string);
  },
  rep: (source, times) => [stringOf(source).repeat(Math.max(0, numberOf(times)))],
  sub: (source, from, to = -1) => {
    const string = stringOf(source);
    const end = numberOf(to) < 0 ? string.length + numberOf(to) + 1 : numberOf(to);
    return [string.slice(placeOf(from, string.length, 1), Math.max(0, end))];
  },
  upper: (source) => [stringOf(source).toUpperCase()],
};

function replaced(replacement: Value, match: Match, source: string, found: string): string {
  const [first] = captures(match, source);
  if (typeof replacement === "string" || typeof replacement === "number") {
    return stringOf(replacement).replace(/%(.)/g, (_, char) => {
      if (char === "0") return found;
      return /\d/.test(char) ? text(captures(match, source)[Number(char) - 1]) : char;
    });
  }
  const value = replacement instanceof Table
    ? replacement.get(first)
    : (replacement as LuaFunction)(...captures(match, source))[0];
  return truth(value) ? text(value) : found;
}

/** Returns a number with so many digits behind the point, also where JavaScript would write an exponent. */
function fixed(number: number, digits: number): string {
  return Math.abs(number) < 1e21 ? number.toFixed(digits) : BigInt(number).toString();
}

const TABLES: Readonly<Record<string, LuaFunction>> = {
  concat: (list, separator = "", from = 1, to = tableOf(list).length) => {
    const parts: string[] = [];
    for (let i = numberOf(from); i <= numberOf(to); i++) parts.push(stringOf(tableOf(list).get(i)));
    return [parts.join(stringOf(separator))];
  },
  getn: (list) => [tableOf(list).length],
  insert: (list, ...args) => {
    const table = tableOf(list);
    if (args.length < 2) table.set(table.length + 1, args[0]);
    else table.list.splice(numberOf(args[0]) - 1, 0, args[1]);
    return [];
  },
  remove: (list, place) => {
    const table = tableOf(list);
    const at = place === undefined ? table.length : numberOf(place);
    return at < 1 || at > table.length ? [undefined] : table.list.splice(at - 1, 1);
  },
  sort: (list, less) => {
    const before = (a: Value, b: Value) => {
      if (less !== undefined) return truth((less as LuaFunction)(a, b)[0]);
      return typeof a === "number" && typeof b === "number" ? a < b : stringOf(a) < stringOf(b);
    };
    tableOf(list).list.sort((a, b) => before(a, b) ? -1 : before(b, a) ? 1 : 0);
    return [];
  },
};

const MATH: Readonly<Record<string, LuaFunction>> = {
  abs: (number) => [Math.abs(numberOf(number))],
  ceil: (number) => [Math.ceil(numberOf(number))],
  floor: (number) => [Math.floor(numberOf(number))],
  fmod: (number, by) => [numberOf(number) % numberOf(by)],
  max: (...numbers) => [Math.max(...numbers.map(numberOf))],
  min: (...numbers) => [Math.min(...numbers.map(numberOf))],
};
