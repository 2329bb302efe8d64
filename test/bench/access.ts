import { performance } from "node:perf_hooks";
import { isTrueAt, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { patch, post } from "../support/bare-client.ts";
import { home, sharedSecretPath, sharedSecretRequest } from "../support/bench-objects.ts";
import { type BenchFixture, removeSource, type Running } from "./bench-fixture.ts";
import { waitBound } from "./controller-readings.ts";
import { latencyRow, type Row, row } from "./report.ts";
import { watchCollection } from "./watch-collection.ts";

const name = "granted";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

/**
 * The time from a change of `spec.access` until the permission is granted or revoked: until the
 * event of the RoleBinding, and until the API server decides accordingly (repeated
 * SubjectAccessReviews, so this is the time until it takes effect).
 */
export async function accessRows(
  fixture: BenchFixture,
  running: Running,
  samples: number,
): Promise<readonly Row[]> {
  const { admin } = fixture;
  await admin.send(sharedSecretRequest({ name }, 1));
  const bindings = await watchCollection(admin, `${rbac}/rolebindings`);
  const [granted, bound, revoked]: readonly [number[], number[], number[]] = [[], [], []];
  const give = (users: readonly string[]) => {
    const access = [{ name: "readers", verbs: ["get"], users }];
    return admin.send(patch(sharedSecretPath(home, name), { spec: { access } }));
  };
  const end = await running.readings.begin();
  const before = await running.readings.read();
  for (let sample = 0; sample < samples; sample += 1) {
    const user = `reader-${sample}`;
    await give([user, "somebody"]);
    const asked = performance.now();
    const binds = bindings.first(
      ({ type, object }) =>
        type !== "DELETED" &&
        listAt(object, "subjects").some((subject) => stringAt(subject, "name") === user),
    );
    granted.push((await untilMay(fixture, user, true)) - asked);
    bound.push(Math.max(0, (await binds).at - asked));
    await give(["somebody"]);
    const askedBack = performance.now();
    revoked.push((await untilMay(fixture, user, false)) - askedBack);
  }
  const after = await running.readings.read();
  const usage = await end();
  bindings.stop();
  await removeSource(fixture, running, name);
  return [
    latencyRow("grant to RoleBinding", bound, { goal: "< 250 ms" }),
    latencyRow("grant to effect", granted, { goal: "< 250 ms", usage }),
    latencyRow("revoke to effect", revoked, { goal: "< 250 ms" }),
    row("grant: event to reconcile, at most", [waitBound(before, after, 0.99), "ms p99"], {
      goal: "<= 10",
      note: "bounds of the histogram are 1 and 10 ms; the first request follows at once",
    }),
  ];
}

async function untilMay({ admin }: BenchFixture, user: string, wanted: boolean): Promise<number> {
  const resource = { group: "management.service", resource: "sharedsecrets" };
  const resourceAttributes = { ...resource, namespace: home, name, verb: "get" };
  const review = post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, groups: ["system:authenticated"], resourceAttributes },
  });
  for (;;) {
    const answer = await admin.ask(review);
    if (isTrueAt(recordAt(answer, "status"), "allowed") === wanted) return performance.now();
  }
}
