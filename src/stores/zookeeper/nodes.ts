import { StoreError } from "../../contract/errors.ts";
import type { FoundDocument } from "../../engine/mod.ts";
import type { NodeConnection } from "./client.ts";
import { isMissing, isRefused } from "./failures.ts";
import type { ZookeeperAcl, ZookeeperStat } from "./options.ts";

/** The beginning of a node's path below the store's path, as a sample of its length. */
export const DIRECTORY = "a/b/";

/** The number that stands for any version. Versions have 32 bits, so that a node could reach it. */
const ANY_VERSION = -1;

/** The nodes below a store's path: each has the access control list of the path. */
export class LockNodes {
  readonly #connection: NodeConnection;
  readonly #path: string;
  /** The access control list of the path, which each new node gets. */
  #acl: ZookeeperAcl[] | undefined;

  constructor(connection: NodeConnection, path: string) {
    this.#connection = connection;
    this.#path = path;
  }

  /** Reads a node. A missing node has neither a value nor a version. */
  async read(path: string): Promise<FoundDocument<number | undefined>> {
    try {
      const [data, stat] = await this.#connection.call<[Uint8Array | undefined, ZookeeperStat]>(
        (client, done) => client.getData(path, done),
      );
      return { value: new TextDecoder().decode(data), version: versionIn(stat) };
    } catch (error) {
      if (!isMissing(error)) throw error;
      return { value: undefined, version: undefined };
    }
  }

  /** Replaces the data of a node with a given version, or makes the node. Returns its new version. */
  async replace(path: string, data: Uint8Array, version: number | undefined): Promise<number> {
    if (version === undefined) return await this.make(path, data);
    if (version === ANY_VERSION) throw anyVersionError(path);
    if (version + 1 === ANY_VERSION) return await this.remake(path, data, version);
    const [stat] = await this.#connection.call<[ZookeeperStat]>((client, done) => {
      client.setData(path, data, version, done);
    });
    return versionIn(stat);
  }

  /** Makes a node, and missing nodes above it. */
  async make(path: string, data: Uint8Array): Promise<number> {
    try {
      await this.#create(path, data);
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.#acl = undefined;
      await this.#makeDirectories(path);
      await this.#create(path, data);
    }
    return 0;
  }

  async #create(path: string, data: Uint8Array): Promise<void> {
    const acl = await this.#pathAcl();
    await this.#connection.call<[]>((client, done) => client.create(path, data, acl, done));
  }

  /** Makes the directories of a node, and the store's path if it is missing. */
  async #makeDirectories(path: string): Promise<void> {
    await this.#pathAcl().catch((error) => {
      if (!isMissing(error)) throw error;
      return this.#makePath();
    });
    const empty = this.#connection.bufferOf("");
    for (const end of [DIRECTORY.indexOf("/"), DIRECTORY.length - 1]) {
      const directory = path.slice(0, this.#path.length + 1 + end);
      await this.#create(directory, empty).catch((error) => {
        // Another one was quicker.
        if (!isRefused(error) || isMissing(error)) throw error;
      });
    }
  }

  /** Removes a node with a given version, and makes it anew: its versions begin with 0 again. */
  async remake(path: string, data: Uint8Array, version: number): Promise<number> {
    const acl = await this.#pathAcl();
    await this.#connection.call<[]>((client, done) => {
      const transaction = client.transaction();
      transaction.remove(path, version);
      transaction.create(path, data, acl);
      transaction.commit(done);
    });
    return 0;
  }

  async #makePath(): Promise<void> {
    try {
      await this.#connection.call<[]>((client, done) => client.mkdirp(this.#path, done));
    } catch (cause) {
      if (!isMissing(cause)) throw cause;
      const advice = "make it, for example with: zkCli.sh -server HOST:PORT create CHROOT";
      throw new StoreError(`The chroot of the client does not exist: ${advice}`, { permanent: true, cause });
    }
  }

  /** Returns the access control list of the path, which nodes do not inherit by themselves. */
  async #pathAcl(): Promise<ZookeeperAcl[]> {
    if (this.#acl !== undefined) return this.#acl;
    const [acl] = await this.#connection.call<[ZookeeperAcl[]]>((client, done) => client.getACL(this.#path, done));
    if (acl.some(({ id: { scheme, id } }) => scheme === "digest" && id.endsWith(":x"))) {
      const needed = `the client needs ADMIN (a) on ${this.#path}`;
      const message = `ZooKeeper does not show the access control list that the nodes of locks are given: ${needed}`;
      throw new StoreError(message, { permanent: true });
    }
    return this.#acl = acl;
  }

  /** Removes a node with a given version. Resolves to whether it was removed. */
  async remove(path: string, version: number | undefined): Promise<boolean> {
    if (version === undefined || version === ANY_VERSION) return false;
    try {
      await this.#connection.call<[]>((client, done) => client.remove(path, version, done));
      return true;
    } catch (error) {
      if (!isRefused(error)) throw error;
      return false;
    }
  }
}

/** Returns the version in a reply. The error is no `TypeError`: the request may have been executed. */
function versionIn(stat: ZookeeperStat | undefined): number {
  if (Number.isInteger(stat?.version)) return stat!.version;
  throw new Error("The client of ZooKeeper gave a reply without the version of the node");
}

function anyVersionError(path: string): StoreError {
  const why = "another program has written it, and -1 means any version. Remove the node once nobody uses the lock";
  return new StoreError(`The version of the node ${path} is -1: ${why}`, { permanent: true });
}
