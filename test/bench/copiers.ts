import { labels } from "../../src/api/names.ts";
import { type BareRequest, patch, post, remove } from "../support/bare-client.ts";
import {
  dataOf,
  home,
  secretPath,
  sharedSecretPath,
  sharedSecretRequest,
} from "../support/bench-objects.ts";
import { programOf, type Replicator, startReplicator } from "../support/replicators.ts";
import type { BenchFixture } from "./bench-fixture.ts";

/** A controller that copies the data of a source into the namespaces of a project. */
export interface Copier {
  readonly name: string;
  create(source: string, project: string): BareRequest;
  /** The source gets the data of a version. */
  update(source: string, version: number): BareRequest;
  remove(source: string): BareRequest;
  start(): Promise<RunningCopier>;
}

/** A running copier. */
export interface RunningCopier {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Latchkey's controller with its SharedSecrets. */
export function latchkeyCopier(fixture: BenchFixture): Copier {
  return {
    name: "Latchkey",
    create: (name, project) => sharedSecretRequest({ name, project }, 1),
    update: (name, version) =>
      patch(sharedSecretPath(home, name), { spec: { data: dataOf(version) } }),
    remove: (name) => remove(sharedSecretPath(home, name)),
    async start() {
      const running = await fixture.start();
      await running.ready();
      return running;
    },
  };
}

/** Another replicator with its annotations on a Secret; why it cannot run without its program. */
export function otherCopier(
  { controlPlane: { adminKubeconfig } }: BenchFixture,
  replicator: Replicator,
): Copier | { readonly missing: string } {
  const found = programOf(replicator, process.env);
  if ("missing" in found) return found;
  const { name: copier, copyTo } = replicator;
  return {
    name: copier,
    create: (name, project) =>
      post(secretPath(home), {
        metadata: { name, annotations: copyTo(`${labels.project}=${project}`) },
        data: dataOf(1),
      }),
    update: (name, version) => patch(secretPath(home, name), { data: dataOf(version) }),
    remove: (name) => remove(secretPath(home, name)),
    start: () => startReplicator(replicator, found.program, adminKubeconfig),
  };
}
