import { StoreError } from "../../contract/errors.ts";
import { show } from "../../internal/validation.ts";

/** The servers of an ensemble, and the login. */
export interface ZookeeperAddress {
  readonly servers: readonly { readonly host: string; readonly port: number }[];
  /** The prefix of each path; empty without one. */
  readonly chroot: string;
  /** The user and the password, with a colon between. */
  readonly auth: string | undefined;
}

const DEFAULT_PORT = 2181;

/** A host, or an IPv6 address in brackets, and a port. */
const SERVER = /^(?:\[(?<address>[\da-f:.]+)\]|(?<name>[^\s:/[\]]+))(?::(?<port>\d{1,5}))?$/i;

/** Reads a list of servers as ZooKeeper's clients take it, such as `zk1:2181,zk2:2181/app`. */
export function parseServers(text: string, auth: string | undefined): ZookeeperAddress {
  const [hosts = "", ...path] = text.split("/");
  const servers = hosts.split(",").map((server) => {
    const { address, name, port = DEFAULT_PORT } = SERVER.exec(server.trim())?.groups ?? {};
    const host = address ?? name;
    if (host === undefined || Number(port) > 65_535 || Number(port) === 0) {
      throw new TypeError(`the servers must be like "zk1:2181,zk2:2181/app": got ${show(text)}`);
    }
    return { host, port: Number(port) };
  });
  const chroot = path.join("/").replace(/\/+$/, "");
  return { servers, chroot: chroot === "" ? "" : `/${chroot}`, auth };
}

/**
 * Returns the module that makes sockets in Deno, Node and Bun. It is loaded here, because a browser can import the
 * store, too.
 *
 * @throws {StoreError} when this runtime has no sockets
 */
export function socketsHere(): typeof import("node:net") {
  const module = globalThis.process?.getBuiltinModule?.("node:net");
  if (module !== undefined) return module;
  throw new StoreError("zookeeper() of servers needs node:net, which this runtime lacks: pass a client", {
    permanent: true,
  });
}
