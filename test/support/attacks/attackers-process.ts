/**
 * Attackers in a process of their own: `attackers-process.ts <agents or http>`. Told whom to attack, it attacks until it is told to end,
 * then tells how often it did what.
 */
import { once, setMaxListeners } from "node:events";
import { getPriority, setPriority } from "node:os";
import { agentAttacks } from "./agent-attacks.ts";
import { keepUp, type Counts, type Target } from "./attack.ts";
import { httpAttacks } from "./http-attacks.ts";

const chosen = process.env["FLEETWRIGHT_ATTACKS"]?.split(",");
const attacks = Object.entries(process.argv[2] === "agents" ? agentAttacks : httpAttacks).filter(
  ([name]) => chosen?.includes(name) ?? true,
);
process.on("disconnect", () => process.exit(1));
// Attackers have machines of their own: as far as that can be had on one, theirs is not the server's time.
setPriority(Math.min(19, getPriority() + 5));
process.send?.("ready");
const [target] = (await once(process, "message")) as [Target];
const over = new AbortController();
setMaxListeners(0, over.signal);
const told = once(process, "message").then(() => over.abort());
const counted = attacks.map(async ([name, attack]): Promise<[string, Counts]> => [
  name,
  await keepUp(attack, target, over.signal),
]);
await told;
process.send?.(Object.fromEntries(await Promise.all(counted)), () => process.exit());
