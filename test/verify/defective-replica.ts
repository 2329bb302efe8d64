import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readVitals } from "../support/controller-vitals.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { repository } from "../support/install.ts";
import { startTiedChild, type TiedChild } from "../support/tied-child.ts";

/** Another replica of the controller, whose reconciles of objects `throws` and `hangs` do so. */
export interface DefectiveReplica {
  /** The `host:port` of its metrics, also before it runs. */
  readonly address: string;
  /** Starts it like the controller with this pid, and waits until it leads. */
  start(pid: number): Promise<void>;
  stop(): Promise<unknown>;
}

/** Prepares the replica; it writes its log into the directory. */
export async function defectiveReplica(directory: string): Promise<DefectiveReplica> {
  const address = `127.0.0.1:${await freePort()}`;
  const issuer = `127.0.0.1:${await freePort()}`;
  let child: TiedChild | undefined;
  return {
    address,
    async start(pid) {
      const read = (name: string): readonly string[] =>
        readFileSync(`/proc/${pid}/${name}`, "utf8").split("\0").slice(0, -1);
      const words = read("cmdline");
      const variables = read("environ").map((line) => {
        const end = line.indexOf("=");
        return [line.slice(0, end), line.slice(end + 1)] as const;
      });
      const program = join(repository, "src", "main.ts");
      child = startTiedChild(
        [process.execPath, program, ...words.slice(words.indexOf("controller"))],
        {
          log: join(directory, "defective-replica.log"),
          cwd: repository,
          env: {
            ...Object.fromEntries(variables),
            NODE_OPTIONS: `--import=${join(import.meta.dirname, "defective-loop.ts")}`,
            LATCHKEY_HTTP_ADDRESS: address,
            LATCHKEY_ISSUER_ADDRESS: issuer,
            LATCHKEY_IDENTITY: "defective",
          },
        },
      );
      const leads = async (): Promise<boolean> => (await readVitals(`http://${address}`)).isLeading;
      await eventually(leads, { what: "the replica with a defect to lead" });
    },
    stop: async () => child?.stop(),
  };
}
