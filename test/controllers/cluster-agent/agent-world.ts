import { agentProgram } from "../../../src/controllers/cluster-agent/agent-controller.ts";
import { agentKinds } from "../../../src/controllers/cluster-agent/agent-kinds.ts";
import { outboxListWatch } from "../../../src/controllers/cluster-agent/translated-list-watch.ts";
import type { ClusterReport } from "../../../src/domain/outbox/cluster-report.ts";
import type { TargetWrites } from "../../../src/domain/sync/target-writes.ts";
import { Yielder } from "../../../src/runtime/yielder.ts";
import type { SyncWorld } from "../../../src/controllers/sync-world.ts";
import { controllerOptions } from "../../support/controller-options.ts";
import { FakeListWatch, type RawObject } from "../../support/fake-list-watch.ts";
import { cluster, outbox } from "../../support/raw-outbox.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { settled, TestClock } from "../../support/test-clock.ts";
import { type FakeWorld, type FakeWorldOptions, fakeWorldOf } from "../../support/world.ts";

/** The world of an agent, and its fake outbox. */
interface AgentWorld extends FakeWorld<SyncWorld> {
  readonly entries: FakeListWatch;
}

/** What differs from an agent that works. */
interface AgentWorldOptions extends Pick<FakeWorldOptions, "answer"> {
  readonly writes?: TargetWrites;
  readonly problem?: ClusterReport["problem"];
}

/**
 * Creates the world of an agent with these entries in its outbox, and with these objects in its
 * cluster, whose marks are already swapped.
 */
export async function agentWorld(
  listed: Readonly<Record<string, readonly RawObject[]>> & {
    readonly entries: readonly RawObject[];
  },
  { writes = { kind: "all" }, problem, answer }: AgentWorldOptions = {},
): Promise<AgentWorld> {
  const clock = new TestClock();
  const entries = new FakeListWatch({ secrets: listed.entries });
  const central = {
    clock,
    yielder: new Yielder(clock),
    log: recordingLog(),
    random: () => 0.5,
    listWatch: outboxListWatch(entries, { cluster, onExcess: () => {} }),
  };
  const watched = agentKinds({ central, outbox, writes: () => writes, problem: () => problem });
  const program = agentProgram(controllerOptions, watched);
  const world = await fakeWorldOf(program, listed, answer === undefined ? {} : { answer });
  await settled();
  return { ...world, entries };
}
