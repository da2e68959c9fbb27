import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownCommand } from "../../../adapters/cli/work/own-command.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function folderWith(mode: number, ...below: string[]): string {
  const folder = join(temporaryFolder(), ...below);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "fleetwright"), "#!/bin/sh\n", { mode });
  return folder;
}

it("is the name alone where a shell finds it", () => {
  expect(ownCommand({ PATH: `/nowhere:${folderWith(0o755)}` })).toBe("fleetwright");
});

it.each([
  ["there is no PATH", () => undefined],
  ["no folder has it", () => temporaryFolder()],
  ["what is there can't be run", () => folderWith(0o644)],
  ["only npm's own folder has it", () => folderWith(0o755, "node_modules", ".bin")],
  ["the folder depends on where one stands", () => "."],
])("is npx where %s", (_, path) => {
  expect(ownCommand({ PATH: path() })).toBe("npx --no-install fleetwright");
});
