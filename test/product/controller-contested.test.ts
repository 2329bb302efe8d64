import { afterAll, describe, expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { derivedName } from "../../src/domain/shared-secret/derived-role.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { becomes } from "../support/becomes.ts";
import { eventually } from "../support/eventually.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  rbacPath,
  view,
} from "../support/shared-secret-requests.ts";
import { becomesCurrent, dataOf, makeSynced, type Synced } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

/** The pauses before repairs, in milliseconds (docs/decisions/failed-writes.md). */
const pauses = [0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000];

interface Fight {
  readonly path: string;
  readonly isRepaired: () => Promise<boolean>;
  /** What somebody else does, as soon as it is repaired. */
  readonly undo: () => Promise<unknown>;
}

/** Undoes so many repairs, which take as long as the pauses before them. */
async function fight({ path, isRepaired, undo }: Fight, repairs: number): Promise<void> {
  const beganAt = performance.now();
  await undo();
  for (let repair = 0; repair < repairs; repair++) {
    await eventually(isRepaired, { what: `${path} to be repaired` });
    await undo();
  }
  const least = pauses.slice(0, repairs).reduce((sum, pause) => sum + pause, 0);
  expect(performance.now() - beganAt).toBeGreaterThanOrEqual(least);
}

/** Waits until the status names a contested target, and everything else is fine. */
async function becomesContested({ source, copy }: Synced, cause: string): Promise<void> {
  const name = copy.replace(/.*\/namespaces\/(.*)\/secrets\/(.*)/, "$1/$2");
  const message = `Secret ${name} does not stay as it is written: ${cause}`;
  await becomes("the target to be contested", () => view(source), {
    conditions: {
      Ready: { status: "True" },
      Synced: { status: "False", reason: "Contested", message: expect.stringContaining(message) },
    },
    sync: { failed: 1, failures: [{ reason: "Contested", message }] },
  });
}

describe.concurrent("what somebody else undoes again and again is repaired ever less often", () => {
  it("a copy that another controller writes", async () => {
    const synced = await makeSynced();
    const { copy } = synced;
    const theirs = { data: { first: base64("theirs") } };
    const isRepaired = async () =>
      stringAt(recordAt(await api.find(copy), "data"), "first") === dataOf("first")["first"];
    const undo = () => api.merge(`${copy}?fieldManager=other-controller`, theirs);
    await fight({ path: copy, isRepaired, undo }, 6);
    await becomesContested(
      synced,
      'a manager that calls itself "other-controller" changes its data',
    );
    for (const value of ["one", "two", "three", "four", "five", "six"]) {
      await api.merge(synced.source.path, { spec: { data: { first: base64(value) } } });
      await becomesCurrent(synced, { ...dataOf("second"), first: base64(value) });
    }
    await becomesContested(
      synced,
      'a manager that calls itself "other-controller" changes its data',
    );
  });

  it("a copy that is deleted", async () => {
    const synced = await makeSynced();
    const { copy } = synced;
    const isRepaired = async () => (await api.find(copy)).code === 200;
    await fight({ path: copy, isRepaired, undo: () => api.delete(copy) }, 6);
    await becomesContested(synced, "it is deleted again and again");
    await api.merge(synced.source.path, {
      metadata: { annotations: { [annotations.syncToProjects]: null } },
    });
    await becomes("nothing to be left", async () => (await api.find(copy)).code, 404);
  });

  it("a RoleBinding that is deleted", async () => {
    const access = [{ name: "readers", users: ["carol"], verbs: ["get"] }];
    const source = await makeSharedSecret({
      namespace: await makeNamespace(),
      name: unique("granted"),
      spec: { access },
    });
    await becomesReady(source);
    const name = derivedName(source, { verbs: ["get"], status: false });
    const binding = rbacPath("rolebindings", source.namespace, name);
    const isRepaired = async () => (await api.find(binding)).code === 200;
    await fight({ path: binding, isRepaired, undo: () => api.delete(binding) }, pauses.length);
    const place = `${source.namespace}/${name}`;
    const message = `RoleBinding ${place} does not stay as it is written: it is deleted again and again`;
    await becomes("the source to say so", () => view(source), {
      conditions: {
        Ready: {
          status: "False",
          reason: "ApplyFailed",
          message: expect.stringContaining(message),
        },
      },
    });
  });
});
