import { checkName } from "../options.ts";
import type { ListRequest } from "./pages/list.ts";
import type { PageQuery } from "./reading.ts";
import { RequestError } from "./request_error.ts";

/** How many locks a page of a list has unless more are asked for, and how many it may have. */
const PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;

/** The limits of a pattern: old servers take exponential time for one with many asterisks. */
const MAX_PATTERN = 1_024;
const MAX_ASTERISKS = 5;

/** Reads the name of a lock. */
export function nameIn(parameters: URLSearchParams): string {
  return checkedName(parameters.get("name") ?? "");
}

/** Returns a name if it can be that of a lock. */
export function checkedName(name: string): string {
  try {
    checkName(name);
  } catch (error) {
    throw new RequestError(400, (error as Error).message);
  }
  return name;
}

/** Reads what the visitor of a list asks for. */
export function listRequest(parameters: URLSearchParams): ListRequest {
  const limit = parameters.get("limit") ?? undefined;
  return {
    text: checkedPattern(parameters.get("match") ?? ""),
    limit: limit === undefined ? undefined : limitOf(limit),
    cursor: parameters.get("cursor") ?? undefined,
  };
}

/** Returns what the store is asked for. A text without `*` may stand anywhere in a name. */
export function pageQuery({ text, limit = PAGE_SIZE, cursor }: ListRequest): PageQuery {
  const match = text.includes("*") ? text : `*${text}*`;
  return { limit, ...text === "" ? {} : { match }, ...cursor === undefined ? {} : { cursor } };
}

/** Reads what a program asks for; its pattern goes to the store as it is. */
export function apiQuery(parameters: URLSearchParams): PageQuery {
  const { text, limit = PAGE_SIZE, cursor } = listRequest(parameters);
  return { limit, ...parameters.has("match") ? { match: text } : {}, ...cursor === undefined ? {} : { cursor } };
}

function checkedPattern(text: string): string {
  if (text.length > MAX_PATTERN) throw new RequestError(400, `match must have at most ${MAX_PATTERN} characters`);
  if (text.split("*").length - 1 <= MAX_ASTERISKS) return text;
  throw new RequestError(400, `match must have at most ${MAX_ASTERISKS} asterisks`);
}

function limitOf(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  if (limit >= 1 && limit <= MAX_PAGE_SIZE) return limit;
  throw new RequestError(400, `limit must be a whole number from 1 to ${MAX_PAGE_SIZE}: got ${JSON.stringify(text)}`);
}
