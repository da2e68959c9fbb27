/** Time of the processor that synchronous work takes in this process, milliseconds: what else the machine does is not counted. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
