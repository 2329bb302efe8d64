import { afterAll, beforeAll, describe } from "vitest";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { type DirectFixture, startDirectFixture } from "../support/direct-fixture.ts";
import { type FakeKubelet, startFakeKubelet } from "../support/fake-kubelet.ts";
import { makeDevsAdmin } from "../support/latchkey-objects.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { describeFront } from "./direct-front.ts";
import { describeStreams } from "./direct-streams.ts";

describe.skipIf(!hasDedicatedClusters)("a direct endpoint", () => {
  let fixture: DirectFixture;
  let kubelet: FakeKubelet;

  beforeAll(async () => {
    kubelet = await startFakeKubelet(
      (line) => void process.stderr.write(`connected cluster: ${line}\n`),
    );
    fixture = await startDirectFixture(allowRequesters, {
      apiServerFlags: kubelet.apiServerFlags,
      args: ["--log-level=debug"],
    });
    await fixture.arrange(makeDevsAdmin);
  });
  afterAll(async () => {
    await fixture?.stop();
    await kubelet?.stop();
  });

  describe("its process", () => {
    describeFront(() => fixture);
  });
  describe("its streams", () => {
    describeStreams(() => ({ fixture, kubelet }));
  });
});
