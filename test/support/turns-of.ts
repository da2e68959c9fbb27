/** How many turns of the event loop others had while something was done. */
export async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    if (isOver) return;
    turns += 1;
    setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isOver = true;
  return turns;
}
