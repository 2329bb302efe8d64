import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requesters } from "../support/actions.ts";
import { canIAt, canIRights, randomQuestion, randomScope } from "../support/can-i.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import {
  connectedName,
  type DirectFixture,
  directPath,
  startDirectFixture,
} from "../support/direct-fixture.ts";
import { type FakeKubelet, kubeletModule, startFakeKubelet } from "../support/fake-kubelet.ts";
import { buildModule } from "../support/go-module.ts";
import { kubectl } from "../support/kubectl.ts";
import { makeDevsAdmin } from "../support/latchkey-objects.ts";
import { isMissing, type Missing, orMissing, present } from "../support/prepared.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { skippedWithout } from "../support/skipped.ts";
import { describeFront } from "./direct-front.ts";
import { describeStreams } from "./direct-streams.ts";

const report = (line: string) => void process.stderr.write(`connected cluster: ${line}\n`);
const program = await orMissing(buildModule(kubeletModule, { report }));

describe.skipIf(!hasDedicatedClusters)("a direct endpoint", () => {
  let fixture: DirectFixture;
  let kubelet: FakeKubelet | Missing;

  beforeAll(async () => {
    kubelet = isMissing(program) ? program : await startFakeKubelet(report);
    fixture = await startDirectFixture(allowRequesters, {
      apiServerFlags: isMissing(kubelet) ? [] : kubelet.apiServerFlags,
      args: ["--log-level=debug"],
    });
    await fixture.arrange(makeDevsAdmin);
  });
  afterAll(async () => {
    await fixture?.stop();
    if (kubelet !== undefined && !isMissing(kubelet)) await kubelet.stop();
  });

  describe("its process", () => {
    describeFront(() => fixture);
  });
  it("answers kubectl auth can-i as it does requests", async () => {
    const asker = { user: "asker", groups: [requesters] };
    for (const args of canIRights(asker.user)) await kubectl(fixture.connected, args);
    const way = { prefix: directPath, server: fixture.server, kubectl: fixture.connected };
    const random = seededRandom(9);
    for (let scopes = 0; scopes < 5; scopes += 1) {
      const scope = randomScope(random, connectedName);
      const canI = await canIAt(await fixture.mint(`can-i-${scopes}`, { scope }, asker), way);
      const questions = Array.from({ length: 4 }, () => randomQuestion(random));
      const answers = await Promise.all(questions.map((question) => canI.ask(question)));
      const all = questions.map((question, index) => ({ scope, ...question, ...answers[index] }));
      expect(all.filter(({ says, is }) => says !== is)).toEqual([]);
    }
  });
  describe("its streams", skippedWithout(program), () => {
    describeStreams(() => ({ fixture, kubelet: present(kubelet) }));
  });
});
