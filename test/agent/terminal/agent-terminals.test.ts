/** The terminals of a machine, whatever their shells do. */
import { expect, it } from "vitest";
import { OrchestratorError } from "fleetwright";
import { AgentTerminals } from "../../../lib/agent/terminal/agent-terminals.ts";
import { uuid } from "../../support/agent-commands.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

it("a shell that can't be started takes no place, and may be opened again under its id", () => {
  const terminals = new AgentTerminals({
    nodeId: "0".repeat(32),
    setup: {},
    logger: new RecordingLogger(),
    load: () => () => {
      throw new OrchestratorError("HOST_ERROR");
    },
    send: () => true,
    sendStream: () => true,
  });
  const opening = (number: number) =>
    ({
      type: "terminal.open",
      not_after: "2030-01-01T01:00:00.000Z",
      id: uuid(number),
      session_id: uuid(number),
      cols: 80,
      rows: 24,
      operator: "ada",
    }) as const;
  for (let number = 1; number <= 120; number += 1)
    expect(() => terminals.open(opening(number)), `${number}`).toThrow(
      expect.objectContaining({ code: "HOST_ERROR" }) as Error,
    );
  expect(() => terminals.open(opening(1))).toThrow(expect.objectContaining({ code: "HOST_ERROR" }) as Error);
  expect(terminals.size).toBe(0);
});
