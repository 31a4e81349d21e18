// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { cas } from "../../../../src/engine/mod.ts";
import { claimOf, grant } from "../../../support/claims.ts";
import { findEtcd } from "../../../support/etcd.ts";
import type { EtcdServer } from "../../../support/etcd_server.ts";
import { inTime } from "../../../support/in_time.ts";
import { until } from "../../../support/until.ts";
import { etcd } from "../deployments/etcd.ts";
import { strikes } from "../strikes.ts";
import { connectTo, WATCH } from "./connection.ts";
import { etcdLeft } from "./left.ts";

const ignore = "missing" in findEtcd();

/** How long a healthy member may take to answer, in milliseconds: shorter than most pauses. */
const SOON = 400;

type Members = readonly EtcdServer[];

/** What a fault does to members, or on the way to one of them. */
type Effect = (members: Members, proxied: string) => Promise<unknown>;

const status = (member: EtcdServer) => inTime(member.call("/v3/maintenance/status"), SOON, "the status");

/** Rejects when so many members do not answer. */
const silent = (count: number): Effect => async (members) => {
  const answers = await Promise.allSettled(members.map(status));
  if (answers.filter((answer) => answer.status === "rejected").length >= count) throw new Error("they are silent");
};

const put = (member: EtcdServer) => member.call("/v3/kv/put", { key: btoa("effect"), value: "" });

const idsOf = async ([member]: Members) => {
  const { members } = await member!.call("/v3/cluster/member/list");
  return members.map(({ ID }: { readonly ID: string }) => ID).sort();
};

/** The members that there were, and a revision. */
let before: { readonly ids: readonly string[]; readonly revision: string };

/** What each fault does; a member that was wiped and a revision that was compacted away are gone for good. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  "leader killed": silent(1),
  "majority killed": silent(2),
  "leader frozen": silent(1),
  "member frozen": silent(1),
  // It answers what it has, and writes nothing.
  "disk stalled": async (members) => {
    await Promise.all(members.map(status));
    const leader = (await Promise.all(members.map(async (each) => await each.leads() ? [each] : []))).flat();
    await inTime(put(leader[0]!), SOON, "a write");
  },
  // It answers, and cannot be heard by the others.
  "member cut off": async (members) => {
    await Promise.all(members.map(status));
    await Promise.all(members.map((member) => inTime(put(member), SOON, "a write")));
  },
  "member wiped": async (members) => {
    const ids = await idsOf(members).catch(() => before.ids);
    if (ids.length === 3 && ids.join() !== before.ids.join()) throw new Error("one is another one");
  },
  "compaction": ([member]) => member!.call("/v3/kv/range", { key: btoa("effect"), revision: before.revision }),
  "NOSPACE": async ([member]) => {
    await put(member!).catch((error: Error) => {
      if (error.message.includes("space exceeded")) throw error;
    });
  },
  "watch cut": async (_, proxied) => {
    const body = JSON.stringify({ create_request: { key: btoa("effect") } });
    const response = await fetch(proxied + WATCH, { method: "POST", body });
    const reader = response.body!.getReader();
    const { done } = await reader.read();
    if (done) throw new Error("it has ended");
    await reader.cancel();
  },
};

Deno.test({
  name: "etcd() can do to its members what it says, and takes it back",
  ignore,
  fn: async (t) => {
    await using deployment = await etcd(["a"]);
    const { members } = deployment.cluster;
    const { backend, close } = connectTo(deployment.ports);
    const claim = claimOf("a");
    await grant(cas(backend), claim);
    for (const fault of deployment.faults) {
      await t.step(fault.kind, async () => {
        const { header } = await put(members[0]!);
        before = { ids: await idsOf(members), revision: header.revision };
        await put(members[0]!);
        const proxied = `http://127.0.0.1:${deployment.proxies[0]!.port}`;
        assert(await strikes(fault, () => EFFECTS[fault.kind]!(members, proxied)), "it is noticed");
        await until(() => backend.read("a").then(() => true, () => false), "all is well again");
        assert((await backend.read("a")).value?.includes(claim.owner), "nothing was lost");
        for (const member of members) await put(member);
      });
    }
    close();
  },
});

Deno.test({
  name: "etcdLeft() finds a lock that is held, and a watch",
  ignore,
  fn: async () => {
    await using deployment = await etcd(["a"]);
    const { cluster, ports } = deployment;
    const { backend, close } = connectTo(ports);
    const [store, claim] = [cas(backend), claimOf("a")];
    await grant(store, claim);
    const over = new AbortController();
    const watch = backend.watch!("a", (await backend.read("a")).version, over.signal, { isWaited: true });
    await until(async () => (await etcdLeft(cluster, [])).connections.length === 1, "a watch is found");
    const { entries } = await etcdLeft(cluster, ["a"], 300);
    assert(/^Cannot acquire lock "a" within 300 ms/.test(entries[0]!), entries[0]);
    over.abort();
    await watch;
    await store.release(claim);
    await until(async () => (await etcdLeft(cluster, [])).connections.length === 0, "none is left");
    assertEquals((await etcdLeft(cluster, ["a"])).entries, []);
    close();
  },
});
