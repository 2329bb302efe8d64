import { runCommandLine } from "./cli/command-line.ts";
import { nodeVersionProblem } from "./cli/node-version.ts";
import { type CommandActions, serverProgram, usageExitCode } from "./cli/server-program.ts";
import { systemClock as clock } from "./runtime/clock.ts";
import { readEnvironment } from "./runtime/environment.ts";
import type { ServerProcess } from "./runtime/run-process.ts";

const server: ServerProcess = {
  clock,
  random: Math.random,
  signals: process,
  exit: (code) => process.exit(code),
};

/** Each command imports its modules when it runs; the help imports none of them. */
const actions: CommandActions = {
  async controller(config) {
    const { runController } = await import("./controllers/run-controller.ts");
    await runController(config, server);
  },
  async webhook(config) {
    const { runWebhook } = await import("./webhooks/run-webhook.ts");
    await runWebhook(config, server);
  },
  async gateway(config) {
    const { runGateway } = await import("./gateway/run-gateway.ts");
    await runGateway(config, server);
  },
  async directEndpoint(config) {
    const { runDirectEndpoint } = await import("./gateway/run-direct-endpoint.ts");
    await runDirectEndpoint(config, server);
  },
  async clusterAgent(config) {
    const { runClusterAgent } = await import("./controllers/run-cluster-agent.ts");
    await runClusterAgent(config, server);
  },
};

const problem = nodeVersionProblem(process.versions.node);
if (problem === undefined) {
  const program = serverProgram(actions, readEnvironment());
  process.exitCode = await runCommandLine(process.argv.slice(2), program, process);
} else {
  process.stderr.write(`latchkey: ${problem}\n`);
  process.exitCode = usageExitCode;
}
