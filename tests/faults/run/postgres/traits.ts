import type { Traits } from "../deployment.ts";
import { POLLED_ENGINE } from "../polled_engine.ts";

/** What is particular to the engine on a server that notifies waiters. */
export const WOKEN_ENGINE: Traits = { ...POLLED_ENGINE, pace: [100, 500] };

/** A text that each request has which changes a document. */
export const REQUEST = 'UPDATE "public"."holdfast_locks" SET';
