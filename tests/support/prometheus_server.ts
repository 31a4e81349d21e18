import { freePort } from "./free_port.ts";
import { until } from "./until.ts";

/** A value that a query gives, with the labels of its time series. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A Prometheus that a test has started, which scrapes one target every second. */
export class Prometheus implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #directory: string;
  readonly #url: string;

  private constructor(process: Deno.ChildProcess, directory: string, url: string) {
    this.#process = process;
    this.#directory = directory;
    this.#url = url;
  }

  /** Starts it with the text of a file of rules, and waits until it is ready. */
  static async start(program: string, target: string, rules: string): Promise<Prometheus> {
    const directory = await Deno.makeTempDir({ prefix: "holdfast_prometheus_" });
    await Deno.writeTextFile(`${directory}/rules.yml`, rules);
    const configuration = {
      "global": { "scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s" },
      "rule_files": [`${directory}/rules.yml`],
      "scrape_configs": [{ "job_name": "holdfast", "static_configs": [{ targets: [target] }] }],
    };
    // What is JSON is YAML too.
    await Deno.writeTextFile(`${directory}/prometheus.yml`, JSON.stringify(configuration));
    const address = `127.0.0.1:${freePort()}`;
    const process = new Deno.Command(program, {
      args: [
        `--config.file=${directory}/prometheus.yml`,
        `--storage.tsdb.path=${directory}/data`,
        `--web.listen-address=${address}`,
        "--log.level=error",
      ],
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    const prometheus = new Prometheus(process, directory, `http://${address}`);
    try {
      await until(() => prometheus.#isReady(), "Prometheus is ready");
      return prometheus;
    } catch (error) {
      await prometheus[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Evaluates a query at the present moment. */
  async query(query: string): Promise<Sample[]> {
    interface Result {
      readonly result: readonly {
        readonly metric: Record<string, string>;
        readonly value: readonly [number, string];
      }[];
    }
    const { result } = await this.#get<Result>(`query?${new URLSearchParams({ query })}`);
    return result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
  }

  /** Returns the names of the alerts that fire at present. */
  async firing(): Promise<string[]> {
    interface Alerts {
      readonly alerts: readonly { readonly state: string; readonly labels: { readonly alertname: string } }[];
    }
    const { alerts } = await this.#get<Alerts>("alerts");
    return alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname);
  }

  /** Returns the names of all alerts that it has rules for. */
  async rules(): Promise<string[]> {
    interface Rules {
      readonly groups: readonly { readonly rules: readonly { readonly name: string }[] }[];
    }
    const { groups } = await this.#get<Rules>("rules");
    return groups.flatMap(({ rules }) => rules.map(({ name }) => name));
  }

  async #get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const { status, data, error } = await response.json();
    if (status !== "success") throw new Error(`${path}: ${error}`);
    return data;
  }

  async #isReady(): Promise<boolean> {
    try {
      const response = await fetch(`${this.#url}/-/ready`);
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // It has ended already.
    }
    await this.#process.status;
    await Deno.remove(this.#directory, { recursive: true });
  }
}
