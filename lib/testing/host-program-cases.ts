/** What a {@link Host} promises of the programs that it runs. */
import { assertEqual, assertThat, assertThrows } from "./expect.ts";
import type { HostCase } from "./host-subject.ts";

export const programCases: HostCase[] = [
  {
    promise: 9,
    name: "a program gets its input and gives its output, streamed and whole",
    async run({ host, programs }) {
      let streamed = "";
      const onOutput = (_stream: string, piece: Uint8Array): void =>
        void (streamed += new TextDecoder().decode(piece));
      const signal = new AbortController().signal;
      const result = await host.run({ argv: programs.echo, stdin: "hello", onOutput }, signal);
      assertEqual([result.exitCode, result.stdout, result.timedOut], [0, "hello", false], "result");
      assertEqual(streamed, "hello", "streamed");
    },
  },
  {
    promise: 9,
    name: "a program that fails is a result, one that does not exist is an error",
    async run({ host, programs }) {
      const { signal } = new AbortController();
      assertEqual((await host.run({ argv: programs.fail }, signal)).exitCode, 3, "exit code");
      const error = await host.run({ argv: ["/does/not/exist"] }, signal).catch((cause: unknown) => cause);
      assertThrows(() => {
        throw error;
      }, "HOST_ERROR");
    },
  },
  {
    promise: 9,
    name: "a program of a user who is not there, or in a folder that is not there, is an error",
    async run({ host, folder, programs: { echo } }) {
      const { signal } = new AbortController();
      for (const command of [{ user: "nobody-of-this-name" }, { cwd: `${folder}/none` }]) {
        const error = await host.run({ argv: echo, ...command }, signal).catch((cause: unknown) => cause);
        assertThrows(() => {
          throw error;
        }, "HOST_ERROR");
      }
    },
  },
  {
    promise: 9,
    name: "aborting ends a program that would run for minutes",
    async run({ host, programs }) {
      const controller = new AbortController();
      const running = host.run({ argv: programs.wait }, controller.signal);
      setImmediate(() => controller.abort());
      const result = await running;
      assertThat(result.exitCode === null || result.exitCode !== 0, "it did not end well");
    },
  },
  {
    promise: 9,
    name: "nothing is left of a program whose time is over, and nothing is found to be left afterwards",
    async run({ host, programs }) {
      const { signal } = new AbortController();
      for (const asks of [false, true]) {
        const result = await host.run({ argv: programs.wait, timeoutMs: 50, asks }, signal);
        assertEqual(result.timedOut, true, "timed out");
      }
      assertEqual((await host.endLeftPrograms?.()) ?? [], [], "left");
    },
  },
  {
    promise: 9,
    needs: "families",
    name: "an abort ends whatever a program started, also what detached itself or ignores SIGTERM, before it is told",
    async run({ host, family }) {
      assertThat(family !== undefined, "a host with families has one");
      const controller = new AbortController();
      const running = host.run({ argv: family.argv }, controller.signal);
      while (family.running() < family.size) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await running;
      assertEqual(family.running(), 0, "how many run");
    },
  },
  {
    promise: 9,
    needs: "families",
    name: "the end of its time ends whatever a program started, of one that only asks, too",
    async run({ host, family }) {
      assertThat(family !== undefined, "a host with families has one");
      for (const asks of [false, true]) {
        const { signal } = new AbortController();
        const result = await host.run({ argv: family.argv, timeoutMs: 1_000, asks }, signal);
        assertEqual(
          [result.timedOut, family.running()],
          [true, 0],
          "whether its time was over, how many run",
        );
      }
    },
  },
  {
    promise: 19,
    name: "it tells in which process it runs, the same before a program and after it",
    async run({ host, programs }) {
      const own = host.ownProcess?.();
      if (!own) return;
      await host.run({ argv: programs.echo, stdin: "" }, new AbortController().signal);
      assertEqual(host.ownProcess?.(), own, "own process");
      const [first, ...above] = own.line;
      assertThat(first !== undefined && first.pid > 0, "it has a number");
      assertThat(!above.some(({ pid }) => pid <= 1), "the machine's first process started no part of it");
      for (const path of own.cgroups) assertThat(/^\/[^/]/.test(path), `${path} is a group below the first`);
    },
  },
];
