import { afterAll, beforeAll, describe } from "vitest";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { type DirectFixture, startDirectFixture } from "../support/direct-fixture.ts";
import { type FakeKubelet, kubeletModule, startFakeKubelet } from "../support/fake-kubelet.ts";
import { buildModule } from "../support/go-module.ts";
import { makeDevsAdmin } from "../support/latchkey-objects.ts";
import { isMissing, type Missing, orMissing, present } from "../support/prepared.ts";
import { allowRequesters } from "../support/scenario-play.ts";
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
  describe("its streams", skippedWithout(program), () => {
    describeStreams(() => ({ fixture, kubelet: present(kubelet) }));
  });
});
