import type { SimulatedAgent } from "./simulated-agent.ts";
import type { Simulation } from "./simulation.ts";

type Action = (simulation: Simulation) => Promise<unknown> | void;

const minuteMs = 60_000;
/** How long an operation waits for its agent at most. */
export const longestQueueSeconds = 400;
const dayMs = 86_400_000;

/** What happens, and how often: the number is a weight among the others. */
const actions: readonly [weight: number, action: Action][] = [
  // What people ask for
  [28, someRequests],
  [5, (simulation) => simulation.cancelSome()],
  [3, (simulation) => simulation.check(someAgent(simulation))],

  // Time
  [18, ({ world }) => world.clock.advance(world.between(1, 400))],
  [14, ({ world }) => world.clock.advance(world.between(1000, 20_000))],
  [5, ({ world }) => world.clock.advance(world.between(minuteMs, 4 * minuteMs))],
  [5, jumpClock],

  // The network
  [5, ({ world }) => world.pick(arriving(world.network))?.deliver(world.between(1, 4))],
  [4, ({ world }) => world.pick(world.network.connections())?.cut()],
  [2, ({ world }) => world.pick(arriving(world.network))?.drop()],
  [2, ({ world }) => world.pick(arriving(world.network))?.double()],
  [4, ({ world }) => world.pick(world.network.ends())?.stall()],
  [5, ({ world }) => world.pick(world.network.ends().filter((end) => end.isStalled))?.unstall()],

  // Processes
  [2, (simulation) => someAgent(simulation).kill()],
  [4, (simulation) => someAgent(simulation).kill(simulation.world.between(1, 60))],
  [9, startSomeAgent],
  [1, (simulation) => someAgent(simulation).stop()],
  [1, ({ orchestrator }) => orchestrator.kill()],
  [3, ({ orchestrator, world }) => orchestrator.kill(world.between(1, 60))],
  [9, ({ orchestrator }) => (orchestrator.current ? undefined : orchestrator.start())],
  [1, ({ orchestrator }) => orchestrator.stop()],

  // Disks
  [3, ({ orchestrator, world }) => void (orchestrator.data.freeBytes = world.between(0, 2000))],
  [5, ({ orchestrator }) => void (orchestrator.data.freeBytes = Infinity)],
  [1, (simulation) => someAgent(simulation).setDiskFull(true)],
  [5, ({ agents }) => agents.forEach((agent) => agent.setDiskFull(false))],
];

const weightOfAll = actions.reduce((sum, [weight]) => sum + weight, 0);

/** Does one thing, by chance. */
export async function act(simulation: Simulation): Promise<void> {
  let left = simulation.world.random() * weightOfAll;
  for (const [weight, action] of actions) {
    left -= weight;
    if (left >= 0) continue;
    await action(simulation);
    return;
  }
}

function someAgent({ world, agents }: Simulation): SimulatedAgent {
  return world.pick(agents)!;
}

function someRequests(simulation: Simulation): void {
  const { world } = simulation;
  const mayWait = world.random() < 0.7;
  const kinds = Array.from({ length: world.between(1, 3) }, () => (world.random() < 0.8 ? "apply" : "plan"));
  simulation.request(someAgent(simulation), kinds, {
    ...(mayWait && { when_offline: "queue", expires_in_seconds: world.between(1, longestQueueSeconds) }),
    ...(world.random() < 0.5 && { timeout_seconds: world.between(1, 60) }),
  });
}

/** Sets a wall clock, by minutes, days or years, or sets it right again. */
function jumpClock(simulation: Simulation): void {
  const { world, orchestrator } = simulation;
  const isServer = world.random() < 0.5;
  const agent = someAgent(simulation);
  const side = isServer ? orchestrator : agent;
  const unitMs = world.pick([minuteMs, dayMs, 365 * dayMs])!;
  const byMs = world.random() < 0.3 ? -side.clockOffsetMs : world.between(-10, 10) * unitMs;
  world.note(`the clock of ${isServer ? "the orchestrator" : agent.name} jumps by ${byMs / 1000} s`);
  side.clockOffsetMs += byMs;
}

async function startSomeAgent(simulation: Simulation): Promise<void> {
  const agent = simulation.world.pick(simulation.agents.filter(({ isUp }) => !isUp));
  if (!agent) return;
  simulation.world.note(`${agent.name} starts`);
  await agent.start();
}

function arriving(network: Simulation["world"]["network"]): ReturnType<typeof network.ends> {
  return network.ends().filter((end) => end.coming > 0);
}
