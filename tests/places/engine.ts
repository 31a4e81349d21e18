import { cas } from "@holdfast/lock/cas";
import { denoKv } from "@holdfast/lock/deno-kv";
import { durableObject } from "@holdfast/lock/durable-object";
import { parseDocument } from "../../src/engine/document.ts";
import { Documents, memoryBackend } from "../engine/memory_backend.ts";
import { Place as KvPlace } from "../stores/deno_kv/place.ts";
import { ObjectHost } from "../stores/durable_object/host.ts";
import { FULL, type Place } from "./place.ts";

/** The engine on documents in this process, whose backend has a clock or none. */
export const CAS: readonly Place[] = [undefined, Date.now].map((clock) => ({
  of: `cas() ${clock === undefined ? "without" : "with"} a clock`,
  capabilities: FULL,
  open: () => {
    const documents = new Documents();
    const used = () => [...documents.texts].filter(([name, { value }]) => !parseDocument(name, value).unused);
    return {
      connect: () => cas(memoryBackend(documents, { clock })),
      leftovers: () => used().map(([name]) => name),
      close: () => {},
    };
  },
}));

const DENO_KV: Place = {
  of: "denoKv()",
  capabilities: FULL,
  open: () => {
    const place = new KvPlace("memory");
    return {
      connect: async () => denoKv(await place.open()),
      leftovers: () => place.used(),
      close: () => place[Symbol.dispose](),
    };
  },
};

const DURABLE_OBJECT: Place = {
  of: "durableObject()",
  capabilities: FULL.filter((capability) => capability !== "query"),
  open: () => {
    const host = new ObjectHost();
    return { connect: () => durableObject(host), leftovers: () => host.used(), close: () => {} };
  },
};

/** The stores whose server is in this process. */
export const HOSTED: readonly Place[] = [DENO_KV, DURABLE_OBJECT];
