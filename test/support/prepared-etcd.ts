import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { type BuildDeps, buildOnce } from "./cached-build.ts";
import { repository } from "./install.ts";

/** What decides the content: the manifests, and the code that starts and installs. */
const manifests = [
  "crds",
  ...["rbac", "policies", "connected-policies"].map((name) => join("config", name)),
];
const code = ["control-plane-start.ts", "install.ts", "prepare-etcd.ts", "program-flags.ts"];

/**
 * The data directory of an etcd in which Latchkey's CRDs, RBAC and policies were installed, for
 * control planes that start with a copy of it: the policies are old enough for requester
 * annotations to be trusted. Made once for each version of the programs and manifests.
 */
export async function preparedEtcd(binaries: Binaries, deps: BuildDeps): Promise<string> {
  const files = [
    ...manifests.flatMap((directory) =>
      readdirSync(join(repository, directory)).map((name) => join(directory, name)),
    ),
    ...code.map((name) => join("test", "support", name)),
  ];
  const directory = await buildOnce(
    {
      name: "etcd data",
      takes: "15 seconds",
      inputs: [
        binaries.etcd,
        binaries.apiServer,
        ...files.toSorted().map((file) => readFileSync(join(repository, file), "utf8")),
      ],
      keeps: 4,
      command: (draft) => ({
        words: [process.execPath, join(import.meta.dirname, "prepare-etcd.ts"), draft],
        cwd: repository,
        env: deps.env ?? process.env,
      }),
      progress: (lines) => lines.at(-2) ?? "",
    },
    deps,
  );
  return join(directory, "etcd");
}
