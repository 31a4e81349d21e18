import type { Untaken } from "../../simulation/branches.ts";

export const UNTAKEN: Untaken = {};
