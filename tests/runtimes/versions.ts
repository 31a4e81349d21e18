/** Where the runtimes, and what the tests need in them, are installed: ignored by git, and kept from run to run. */
export const FOLDER = new URL("../../.runtimes/", import.meta.url).pathname;

/** The installed packages. */
export const MODULES = `${FOLDER}node_modules`;

/** The versions of Node, by major. Their npm packages are named after the machine that they are for. */
const NODE = { node20: "20.20.2", node22: "22.23.3", node24: "24.21.0" } as const;

const BUN = "1.4.5";

/** How npm names this machine for Node and for Bun; both are there for these alone. */
const MACHINES: Readonly<Record<string, { readonly node: string; readonly bun: string }>> = {
  "linux-x86_64": { node: "linux-x64", bun: "linux-x64" },
  "linux-aarch64": { node: "linux-arm64", bun: "linux-aarch64" },
};

/** Returns every version that is installed, as the dependencies of a package.json: the one place to raise them. */
export function dependencies(): Record<string, string> {
  const machine = MACHINES[`${Deno.build.os}-${Deno.build.arch}`];
  if (machine === undefined) {
    throw new Error(`The runtimes are installed on ${Object.keys(MACHINES).join(" and ")} only`);
  }
  const nodes = Object.entries(NODE).map(([name, version]) => [name, `npm:node-${machine.node}@${version}`]);
  return {
    ...Object.fromEntries(nodes),
    bun: `npm:@oven/bun-${machine.bun}@${BUN}`,
    esbuild: "0.28.2",
    miniflare: "4.20260730.0",
    ioredis: "6.0.0",
    ioredis5: "npm:ioredis@5.11.1",
    iovalkey: "0.4.0",
    redis: "6.3.1",
    redis5: "npm:redis@5.12.1",
    "@valkey/valkey-glide": "2.5.2",
    uuid: "14.0.3",
    postgres: "3.4.9",
    pg: "8.23.1",
    mysql2: "3.24.6",
    mariadb: "3.5.4",
    "node-zookeeper-client": "1.1.3",
    "@opentelemetry/api": "1.9.1",
    "@opentelemetry/context-async-hooks": "2.12.0",
    "@opentelemetry/exporter-prometheus": "0.223.0",
    "@opentelemetry/sdk-metrics": "2.12.0",
    "@opentelemetry/sdk-trace-base": "2.12.0",
    "fast-check": "4.10.2",
    typescript: "5.9.3",
    typescript7: "npm:typescript@7.0.2",
    "@types/node": "22.20.5",
    jest: "30.5.2",
    "ts-jest": "29.4.15",
    "@babel/plugin-transform-modules-commonjs": "7.29.14",
    tsx: "4.23.15",
    mocha: "11.8.0",
    vitest: "3.2.7",
    "@sinonjs/fake-timers": "15.5.0",
    vite: "7.3.8",
    rollup: "4.68.8",
    "@rollup/plugin-node-resolve": "16.0.3",
  };
}

/**
 * What is left out: miniflare depends on it for images, at this very version, and loads it only then. It is 16 MB, with
 * a library for musl beside that for glibc.
 */
export const LEFT_OUT: Readonly<Record<string, string>> = { sharp: "0.35.2" };
