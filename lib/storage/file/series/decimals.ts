/**
 * Measured values are mostly decimals with few digits: 12.34 is the whole number 1234 at the scale 2. Whole numbers that
 * follow each other differ little, so that their differences pack into few bits.
 */

/** Largest number of decimals that is looked for. */
export const maxScale = 9;

/** Bound of the whole numbers: differences of their differences are then exact in a double, and so is their zigzag form. */
const largest = 2 ** 49;

const powers = Float64Array.from({ length: maxScale + 1 }, (_, scale) => 10 ** scale);

/** 10 to the power of a scale. */
export function powerOf(scale: number): number {
  return powers[scale] as number;
}

/** A value as a whole number at a scale; NaN when that would not give back the very same double. */
export function toWhole(value: number, power: number): number {
  const whole = Math.round(value * power);
  if (!(whole <= largest && whole >= -largest) || whole / power !== value) return NaN;
  // Minus zero is another double than zero. (Math.round gives it for small negative values, which fail above.)
  return whole === 0 && Object.is(value, -0) ? NaN : whole;
}

/** The least scale at which a value is whole; -1 when there is none. */
export function scaleOf(value: number, atLeast = 0): number {
  for (let scale = atLeast; scale <= maxScale; scale++) {
    if (!Number.isNaN(toWhole(value, powerOf(scale)))) return scale;
  }
  return -1;
}

/** Values as whole numbers at one scale; null when there is no scale that fits all of them. */
export function toWholes(values: Float64Array): { scale: number; wholes: Float64Array } | null {
  const wholes = new Float64Array(values.length);
  let scale = 0;
  let power = 1;
  for (let i = 0; i < values.length; i++) {
    const whole = toWhole(values[i] as number, power);
    if (!Number.isNaN(whole)) {
      wholes[i] = whole;
      continue;
    }
    scale = scaleOf(values[i] as number, scale + 1);
    if (scale === -1) return null;
    power = powerOf(scale);
    // Again from the start at the new scale.
    i = -1;
  }
  return { scale, wholes };
}
