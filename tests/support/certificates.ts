import { run } from "./debian_programs.ts";

/** It comes with the certificates of Debian. */
export const hasOpenssl = await run("openssl", ["version"], "/").then(() => true, () => false);

/** Certificates of an authority, a server and a user, each with its key. */
export interface Certificates {
  readonly ca: string;
  /** Of a client without a name, and of one with a name. */
  readonly app: Pair;
  readonly named: Pair;
}

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Makes certificates in a folder, those of the files `ca.pem`, `server.pem` and `server.key` among them. */
export async function certificates(folder: string): Promise<Certificates> {
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  await run("openssl", [...made, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority"], folder);
  // The gateway is a client of its own server, and presents the server's certificate.
  const names = [["server", "serverAuth,clientAuth"], ["app", "clientAuth"], ["named", "clientAuth"]];
  for (const [name, usage] of names) {
    const extensions = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", `extendedKeyUsage=${usage}`];
    const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"];
    const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/${name === "app" ? "O" : "CN"}=${name}`];
    await run("openssl", [...made, ...signed, ...files, ...extensions], folder);
  }
  const read = (file: string) => Deno.readTextFileSync(`${folder}/${file}`);
  const pair = (name: string) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) });
  return { ca: read("ca.pem"), app: pair("app"), named: pair("named") };
}
