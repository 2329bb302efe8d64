import { defineConfig } from "vitest/config";

// The projects take turns: each has the machine's two cores, and most have a control plane of their
// own.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          sequence: { groupOrder: 0 },
          include: [
            "test/{api,domain,tokens,kube,runtime,authn,controllers,webhooks,gateway,cli,support,house,bench,soak,mutants,fuzz}/**/*.test.ts",
          ],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "cluster",
          sequence: { groupOrder: 1 },
          include: ["test/cluster/**/*.test.ts"],
          exclude: [
            "test/cluster/controller-*.test.ts",
            "test/cluster/crash-*.test.ts",
            "test/cluster/webhook-*.test.ts",
            "test/cluster/gateway-*.test.ts",
            "test/cluster/cli-*.test.ts",
          ],
          globalSetup: ["test/cluster/global-setup.ts"],
          testTimeout: 300_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "controller",
          sequence: { groupOrder: 2 },
          include: ["test/cluster/controller-*.test.ts"],
          globalSetup: ["test/cluster/controller-setup.ts"],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
          maxConcurrency: 8,
        },
      },
      {
        test: {
          name: "webhook",
          sequence: { groupOrder: 3 },
          include: ["test/cluster/webhook-*.test.ts"],
          globalSetup: ["test/cluster/webhook-setup.ts"],
          testTimeout: 300_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
          maxConcurrency: 8,
        },
      },
      {
        test: {
          name: "gateway",
          sequence: { groupOrder: 4 },
          include: ["test/cluster/gateway-*.test.ts"],
          globalSetup: ["test/cluster/gateway-setup.ts"],
          testTimeout: 300_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
          maxConcurrency: 8,
        },
      },
      // The same tests on the bundle for Node.js, and on the compiled program.
      client("cli", 5),
      client("program", 6),
      {
        test: {
          name: "crash",
          sequence: { groupOrder: 7 },
          include: ["test/cluster/crash-*.test.ts", "test/dev/**/*.test.ts"],
          testTimeout: 900_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "faults",
          sequence: { groupOrder: 8 },
          include: ["test/faults/**/*.test.ts"],
          testTimeout: 900_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});

function client(name: "cli" | "program", groupOrder: number) {
  return {
    test: {
      name,
      sequence: { groupOrder },
      include: ["test/cluster/cli-*.test.ts"],
      globalSetup: ["test/cluster/cli-setup.ts"],
      testTimeout: 300_000,
      hookTimeout: 600_000,
      maxWorkers: 2,
      maxConcurrency: 8,
    },
  };
}
