import { assertEquals } from "@std/assert";
import { describeProcess } from "../../../src/internal/process/meta.ts";

/** A Deno whose user is asked when the name of the machine is read without permission. */
function deno(state: string | undefined) {
  const asked: unknown[] = [];
  const querySync = (permission: { name: "sys"; kind: "hostname" }) => {
    asked.push(permission);
    return { state: state! };
  };
  return {
    asked,
    pid: 7,
    hostname: () => {
      if (state !== "granted") asked.push("the user");
      return "web-1";
    },
    permissions: state === undefined ? {} : { querySync },
  };
}

const node = (hostname: () => string) => ({ pid: 8, getBuiltinModule: () => ({ hostname }) });

const fails = (): never => {
  throw new Error("not implemented");
};

Deno.test("describeProcess() tells the host and the pid as strings", () => {
  assertEquals(describeProcess({ Deno: deno("granted") }), { host: "web-1", pid: "7" });
  assertEquals(describeProcess({ process: node(() => "web-2") }), { host: "web-2", pid: "8" });
});

Deno.test("describeProcess() asks no user for a permission", () => {
  for (const state of ["prompt", "denied", undefined]) {
    const stand = deno(state);
    assertEquals(describeProcess({ Deno: stand, process: node(fails) }), { pid: "7" });
    assertEquals(stand.asked, state === undefined ? [] : [{ name: "sys", kind: "hostname" }]);
  }
});

Deno.test("describeProcess() leaves out what the runtime does not tell", () => {
  assertEquals(describeProcess({}), {});
  assertEquals(describeProcess({ process: {} }), {});
  assertEquals(describeProcess({ process: { pid: 9 } }), { pid: "9" });
  assertEquals(describeProcess({ process: node(fails) }), { pid: "8" });
  assertEquals(describeProcess({ process: { pid: 9, getBuiltinModule: () => undefined } }), { pid: "9" });
});

Deno.test("describeProcess() takes a stand-in for Deno on another runtime for what it is", () => {
  const { pid, hostname } = deno("denied");
  assertEquals(describeProcess({ Deno: { pid, hostname }, process: node(() => "web-2") }), { host: "web-2", pid: "7" });
});
