// The types that each clause accepts, and the messages for other types.

export const notBinary = (type: string): string =>
  `only integers and bools can be formatted as binary, was given ${type}`;

export const notDecimal = (type: string): string => `decimal clause can only be used on integers, was given ${type}`;

export const notFixed = (type: string): string => `fixed-point clause can only be used on doubles, was given ${type}`;

export const notHex = (type: string): string =>
  `only integers, byte buffers, and strings can be formatted as hex, was given ${type}`;

export const notOctal = (type: string): string => `octal clause can only be used on integers, was given ${type}`;

export const notScientific = (type: string): string =>
  `scientific clause can only be used on doubles, was given ${type}`;

export const notString = (type: string): string =>
  'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, ' +
  `was given ${type}`;
