import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/{api,domain,tokens,kube,runtime,controllers,house,bench}/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "cluster",
          include: ["test/cluster/**/*.test.ts"],
          exclude: ["test/cluster/controller-*.test.ts", "test/cluster/crash-*.test.ts"],
          globalSetup: ["test/cluster/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "controller",
          include: ["test/cluster/controller-*.test.ts"],
          globalSetup: ["test/cluster/controller-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
          maxConcurrency: 8,
        },
      },
      {
        test: {
          name: "crash",
          include: ["test/cluster/crash-*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 600_000,
          maxWorkers: 1,
        },
      },
      {
        test: {
          name: "faults",
          include: ["test/faults/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 600_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
