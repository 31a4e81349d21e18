import { checkArguments } from "@holdfast/lock/authors";
import { LOCK_ORDERS, type LockOrder } from "../../listing/locks.ts";
import type { ListPart } from "../state/lock_model.ts";
import type { ListRequest } from "../pages/list.ts";
import type { ListQuery, PageQuery } from "../state/reading.ts";
import { RequestError } from "./request_error.ts";

/** The default number of locks on a page of a list, and the largest. */
const PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;

/** The largest page number. */
const MAX_PAGE = 100_000;

/** The limits of a pattern: old servers take exponential time for one with many asterisks. */
const MAX_PATTERN = 1_024;
const MAX_ASTERISKS = 5;

/** Reads the name of a lock. */
export function nameIn(parameters: URLSearchParams): string {
  return checkedName(parameters.get("name") ?? "");
}

/** Returns a name if it can be the name of a lock; else throws. */
export function checkedName(name: string): string {
  try {
    checkArguments(name);
  } catch (error) {
    throw new RequestError(400, (error as Error).message);
  }
  return name;
}

/** Reads the request of a visitor for a list. */
export function listRequest(parameters: URLSearchParams): ListRequest {
  return {
    text: checkedPattern(parameters.get("match") ?? ""),
    order: orderIn(parameters),
    contended: isSet("contended", parameters),
    limit: numberIn("limit", parameters, MAX_PAGE_SIZE),
    page: numberIn("page", parameters, MAX_PAGE),
    cursor: parameters.get("cursor") ?? undefined,
  };
}

/** Returns the query for the store. A text without `*` may stand anywhere in a name. */
export function listQuery({ text, cursor }: ListRequest): ListQuery {
  const match = text.includes("*") ? text : `*${text}*`;
  return { ...text === "" ? {} : { match }, ...cursor === undefined ? {} : { cursor } };
}

/** Returns the part of the locks to show. */
export function listPart({ order = "wait", contended, limit = PAGE_SIZE, page = 1 }: ListRequest): ListPart {
  return { order, contended, limit, page };
}

/** Reads the query of a program; its pattern goes to the store unchanged. */
export function apiQuery(parameters: URLSearchParams): PageQuery {
  const { text, limit = PAGE_SIZE, cursor } = listRequest(parameters);
  return { limit, ...parameters.has("match") ? { match: text } : {}, ...cursor === undefined ? {} : { cursor } };
}

function orderIn(parameters: URLSearchParams): LockOrder | undefined {
  const text = parameters.get("sort") ?? "";
  const order = LOCK_ORDERS.find((each) => each === text);
  if (order !== undefined || text === "") return order;
  throw new RequestError(400, `sort must be ${LOCK_ORDERS.join(" or ")}: got ${JSON.stringify(text)}`);
}

function isSet(name: string, parameters: URLSearchParams): boolean {
  const text = parameters.get(name) ?? "";
  if (text === "" || text === "1") return text === "1";
  throw new RequestError(400, `${name} must be 1: got ${JSON.stringify(text)}`);
}

function checkedPattern(text: string): string {
  if (text.length > MAX_PATTERN) throw new RequestError(400, `match must have at most ${MAX_PATTERN} characters`);
  if (text.split("*").length - 1 <= MAX_ASTERISKS) return text;
  throw new RequestError(400, `match must have at most ${MAX_ASTERISKS} asterisks`);
}

function numberIn(name: string, parameters: URLSearchParams, most: number): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const number = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  if (number >= 1 && number <= most) return number;
  throw new RequestError(400, `${name} must be a whole number from 1 to ${most}: got ${JSON.stringify(text)}`);
}
