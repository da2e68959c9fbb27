import type { Bug } from "./bugs.ts";

const members = ["test/cluster/members.test.ts"];
const duty = ["test/upkeep/sole-duty.test.ts"];
const work = ["test/upkeep/background-work.test.ts"];

/** Bugs of what is handed over, given back or taken up again: between processes, and over a stop. */
export const handoverBugs: readonly Bug[] = [
  {
    name: "a process that leaves the cluster begins calls of others",
    file: "lib/cluster/framed-cluster.ts",
    from: `        if (this.#member !== member && (frame.kind === "call" || frame.kind === "open")) return;\n`,
    tests: members,
  },
  {
    name: "a process that leaves the cluster does not bring the answers that it owes",
    file: "lib/cluster/framed-cluster.ts",
    from: `    await Promise.all([calls.settled(), pipes.settled()]);\n    await this.#link.stop();`,
    to: `    await this.#link.stop();\n    await Promise.all([calls.settled(), pipes.settled()]);`,
    tests: members,
  },
  {
    name: "a pipe that is over keeps its listener of the caller's signal",
    file: "lib/cluster/pipes.ts",
    from: `        over?.();\n`,
    tests: members,
  },
  {
    name: "a writer goes on where the pipe fails as it gets credit",
    file: "lib/cluster/framed-pipe.ts",
    from: `      await this.#until(() => this.#credit >= cost);\n      this.#throwIfFailed();`,
    to: `      await this.#until(() => this.#credit >= cost);`,
    tests: ["test/cluster/framed-pipe.test.ts"],
  },
  {
    name: "a duty is still this process's while it gives it up",
    file: "lib/upkeep/sole-duty.ts",
    from: `    this.#until = -Infinity;\n    const lease = this.#lease;\n    this.#lease = null;\n    await lease?.release();`,
    to: `    const lease = this.#lease;\n    this.#lease = null;\n    await lease?.release();\n    this.#until = -Infinity;`,
    tests: duty,
  },
  {
    name: "a process that stops keeps a duty that it was about to get",
    file: "lib/upkeep/sole-duty.ts",
    from: `    await this.#beating;\n    await this.#giveUp();\n`,
    to: `    await this.#giveUp();\n`,
    tests: duty,
  },
  {
    name: "what came while a duty was not certain waits for ever",
    file: "lib/upkeep/sole-duty.ts",
    from: `      wasMine &&= this.isMine;\n`,
    tests: duty,
  },
  {
    name: "work in the background is tried again every second",
    file: "lib/upkeep/background-work.ts",
    from: `Math.min(retryMs * 2, longestRetryMs)`,
    to: `retryMs`,
    tests: work,
  },
  {
    name: "a message that was taken while the server stopped is sent again",
    file: "lib/notifications/channels/outbox.ts",
    from: `signal.aborted && !outcome.delivered ? null : outcome`,
    to: `signal.aborted ? null : outcome`,
    tests: ["test/notifications/channels/stopping.test.ts"],
  },
  {
    name: "an answered challenge is remembered by the wall clock",
    file: "lib/access/challenges.ts",
    from: `expires_at: claims.until }`,
    to: `expires_at: claims.expires_at }`,
    tests: ["test/access/leftovers.test.ts"],
  },
];
