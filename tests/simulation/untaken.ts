import type { Untaken } from "./branches.ts";

export const UNTAKEN: Untaken = {};
