// Expressions by type: each rule makes one of a type from others. Small constants, corners of ranges and mistakes are all likely.

export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    let mixed = state ^ (state >>> 15);
    mixed = Math.imul(mixed, 0x2c1b3c6d) >>> 0;
    mixed ^= mixed >>> 12;
    return (mixed >>> 0) % below;
  };
  return next;
}

/** Variables of every question. Maps have at most one entry, because Go iterates over larger ones in random order. */
export const variables = {
  i: { type: 'int', value: 5 },
  j: { type: 'int', value: -3 },
  u: { type: 'uint', value: '7' },
  d: { type: 'double', value: 2.5 },
  b: { type: 'bool', value: true },
  s: { type: 'string', value: 'hello, wörld' },
  e: { type: 'string', value: '' },
  y: { type: 'bytes', value: 'AQL/' },
  t: { type: 'timestamp', value: '2024-02-29T12:34:56.789012345Z' },
  w: { type: 'duration', value: '90m1.5s' },
  l: { type: 'list(int)', value: [3, 1, 2, 1] },
  ls: { type: 'list(string)', value: ['a', 'bb', 'ccc'] },
  ld: { type: 'list(double)', value: [1.5, -0.5] },
  m: { type: 'map(string,int)', value: { a: 1 } },
  mi: { type: 'map(int,string)', value: { 1: 'x' } },
  x: { type: 'dyn', value: { k: [1, 'two', null, true], n: null } },
  z: { type: 'dyn', value: [1, 2] },
  o: { type: 'optional(int)', value: 4 },
  q: { type: 'optional(string)', value: null },
};

const literals = {
  int: [
    '0',
    '1',
    '-1',
    '2',
    '10',
    '9223372036854775807',
    '-9223372036854775808',
    'i',
    'j',
    '4611686018427387904',
    '0x1F',
  ],
  uint: ['0u', '1u', '3u', '18446744073709551615u', 'u'],
  double: ['0.0', '1.0', '-1.5', '1e308', '0.1', 'd', '1e-7', "double('NaN')", "double('-inf')", '9007199254740993.0'],
  bool: ['true', 'false', 'b'],
  string: [
    "''",
    "'a'",
    "'Ab c'",
    "'é😀'",
    's',
    'e',
    "'1'",
    "'-2.5'",
    "'true'",
    "'2024-01-01T00:00:00Z'",
    "'1h'",
    "'a,b,c'",
    "'10.0.0.1'",
  ],
  bytes: ["b''", "b'ab'", "b'\\xff'", 'y'],
  timestamp: ['t', "timestamp('1970-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59Z')", 'timestamp(0)'],
  duration: ['w', "duration('0s')", "duration('-1.5s')", "duration('2562047h')", "duration('1ns')"],
  ip: ["ip('10.0.0.1')", "ip('::1')", "ip('fe80::1')", "ip('224.0.0.1')"],
  cidr: ["cidr('10.0.0.0/8')", "cidr('fd00::/8')", "cidr('10.0.0.1/31')"],
  quantity: ["quantity('1')", "quantity('1.5Gi')", "quantity('100m')", "quantity('-2k')", "quantity('0')"],
  url: ["url('https://user@example.com:80/a%20b?x=1&x=2#f')", "url('/path')", "url('http://[::1]:8080/')"],
  semver: ["semver('1.2.3')", "semver('1.2.3-rc.1+b')", "semver('v1.2', true)"],
  null: ['null'],
  type: ['int', 'type(1)', 'string', 'type(null)', 'type([])', "type('a')"],
};

const scalars = ['int', 'uint', 'double', 'bool', 'string', 'bytes', 'timestamp', 'duration'];

export class Generator {
  constructor(random) {
    this.random = random;
    this.locals = [];
    this.names = 0;
  }

  pick(list) {
    return list[this.random(list.length)];
  }

  /** Returns any type, including lists and maps. */
  type(depth = 1) {
    const kind = this.random(10);
    if (depth > 0 && kind === 0) return `list(${this.type(depth - 1)})`;
    if (depth > 0 && kind === 1) return `map(${this.pick(['string', 'int', 'bool'])},${this.type(depth - 1)})`;
    if (depth > 0 && kind === 2) return `optional(${this.type(depth - 1)})`;
    return this.pick(scalars);
  }

  /** Returns an expression of the type; now and then one of another type, or of an unknown one. */
  make(type, depth) {
    const chance = this.random(40);
    if (chance === 0) return `dyn(${this.make(this.type(0), depth - 1)})`;
    if (chance === 1) return `dyn(${this.make(type, depth - 1)})`;
    if (chance === 2) return this.pick(['x.k', 'x.n', 'x.k[0]', 'x.missing', 'z[1]', 'z[5]', 'x.?k', 'null']);
    const local = this.locals.filter((variable) => variable.type === type);
    if (local.length > 0 && this.random(3) === 0) return this.pick(local).name;
    if (depth <= 0) return this.leaf(type);
    if (this.random(8) === 0) return this.common(type, depth);
    const rules = this.rules(type);
    return rules.length === 0 || this.random(6) === 0 ? this.leaf(type) : this.pick(rules)(depth - 1);
  }

  leaf(type) {
    if (literals[type] !== undefined) return this.pick(literals[type]);
    const [, name, inner] = /^(\w+)\((.*)\)$/.exec(type);
    if (name === 'list') {
      const known = { int: 'l', string: 'ls', double: 'ld' }[inner];
      if (known !== undefined && this.random(2) === 0) return known;
      return `[${Array.from({ length: this.random(4) }, () => this.leaf(inner)).join(', ')}]`;
    }
    if (name === 'optional') {
      return this.random(3) === 0 ? 'optional.none()' : `optional.of(${this.leaf(inner)})`;
    }
    const [key, value] = [inner.slice(0, inner.indexOf(',')), inner.slice(inner.indexOf(',') + 1)];
    if (type === 'map(string,int)' && this.random(2) === 0) return 'm';
    return this.random(4) === 0 ? '{}' : `{${this.leaf(key)}: ${this.leaf(value)}}`;
  }

  /** Makes the expressions that every type has: choices, elements, optionals. */
  common(type, depth) {
    const t = (each) => this.make(each, depth - 1);
    return this.pick([
      () => `(${t('bool')} ? ${t(type)} : ${t(type)})`,
      () => `${t(`list(${type})`)}[${t('int')}]`,
      () => `${t(`optional(${type})`)}.orValue(${t(type)})`,
      () => `${t(`optional(${type})`)}.value()`,
      () => `${t(`map(string,${type})`)}.a`,
      () => `${t(`map(int,${type})`)}[${t('int')}]`,
      () => `(${t(type)})`,
    ])();
  }

  /** Makes a macro over a list; `body` is made where its variable is known. */
  over(elementType, depth, body) {
    const name = `v${this.names++ % 5}`;
    const list = this.make(`list(${elementType})`, depth);
    this.locals.push({ name, type: elementType });
    const made = body(name);
    this.locals.pop();
    return [list, name, made];
  }

  rules(type) {
    const t = (each, depth) => this.make(each, depth);
    const binary =
      (each, ...marks) =>
      (depth) =>
        `${this.group(each, depth)} ${this.pick(marks)} ${this.group(each, depth)}`;
    const element = () => this.pick(scalars);
    switch (type) {
      case 'int':
        return [
          binary('int', '+', '-', '*', '/', '%'),
          (d) => `-(${t('int', d)})`,
          (d) => `int(${t(this.pick(['uint', 'double', 'string', 'duration', 'timestamp', 'int']), d)})`,
          (d) => `size(${t(this.pick(['string', 'bytes', 'list(int)', 'map(string,int)']), d)})`,
          (d) => `${t('string', d)}.size()`,
          (d) => `${t('string', d)}.indexOf(${t('string', d)})`,
          (d) => `${t('string', d)}.lastIndexOf(${t('string', d)}, ${t('int', d)})`,
          (d) => `${t(`list(${element()})`, d)}.indexOf(${t(element(), d)})`,
          (d) => `${t('list(int)', d)}.${this.pick(['sum', 'min', 'max'])}()`,
          (d) =>
            `${t('timestamp', d)}.${this.pick(['getFullYear', 'getMonth', 'getDayOfYear', 'getDate', 'getDayOfWeek', 'getHours', 'getMilliseconds'])}(${this.pick(['', "'America/New_York'", "'-08:30'", "'UTC'"])})`,
          (d) => `${t('duration', d)}.${this.pick(['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'])}()`,
          (d) => `${t('quantity', d)}.compareTo(${t('quantity', d)})`,
          (d) => `${t('quantity', d)}.asInteger()`,
          (d) => `sign(${t('quantity', d)})`,
          (d) => `${t('semver', d)}.${this.pick(['major', 'minor', 'patch'])}()`,
          (d) => `${t('ip', d)}.family()`,
          (d) => `${t('cidr', d)}.prefixLength()`,
        ];
      case 'uint':
        return [
          binary('uint', '+', '-', '*', '/', '%'),
          (d) => `uint(${t(this.pick(['int', 'double', 'string']), d)})`,
          (d) => `[${t('uint', d)}, ${t('uint', d)}].sum()`,
        ];
      case 'double':
        return [
          binary('double', '+', '-', '*', '/'),
          (d) => `-(${t('double', d)})`,
          (d) => `double(${t(this.pick(['int', 'uint', 'string']), d)})`,
          (d) => `${t('list(double)', d)}.${this.pick(['sum', 'min', 'max'])}()`,
          (d) => `${t('quantity', d)}.asApproximateFloat()`,
        ];
      case 'bool':
        return [
          binary('bool', '&&', '||', '==', '!='),
          (d) => `!(${t('bool', d)})`,
          (d) => {
            const each = this.pick(scalars);
            return `${this.group(each, d)} ${this.pick(['<', '<=', '>', '>=', '==', '!='])} ${this.group(each, d)}`;
          },
          (d) =>
            `${this.group(this.pick(['int', 'uint', 'double']), d)} ${this.pick(['<', '<=', '>', '>='])} ${this.group(this.pick(['int', 'uint', 'double']), d)}`,
          (d) => {
            const each = this.type();
            return `${this.group(each, d)} ${this.pick(['==', '!='])} ${this.group(each, d)}`;
          },
          (d) => {
            const each = element();
            return `${this.group(each, d)} in ${this.group(`list(${each})`, d)}`;
          },
          (d) => `${this.group('string', d)} in ${this.group('map(string,int)', d)}`,
          (d) => this.macro('all', d),
          (d) => this.macro('exists', d),
          (d) => this.macro('exists_one', d),
          (d) =>
            `${t('list(int)', d)}.${this.pick(['all', 'exists', 'existsOne'])}(p, r, p ${this.pick(['<', '=='])} r)`,
          (d) => `${t('string', d)}.${this.pick(['startsWith', 'endsWith', 'contains'])}(${t('string', d)})`,
          (d) => `${t('string', d)}.matches(${this.pick(["'^[a-z]+'", "'a|b'", "'.*'", "'('", 's', "'\\\\d+'"])})`,
          (d) => `has(${this.pick(['x.k', 'x.n', 'x.zz', 'm.a', 'm.b', `${t('map(string,int)', d)}.a`])})`,
          (d) => `${t(this.pick(['list(int)', 'list(string)', 'list(bool)']), d)}.isSorted()`,
          (d) =>
            `sets.${this.pick(['contains', 'equivalent', 'intersects'])}(${t('list(int)', d)}, ${t('list(int)', d)})`,
          (d) => `${t(`optional(${element()})`, d)}.hasValue()`,
          (d) => `bool(${t(this.pick(['string', 'bool']), d)})`,
          (d) => `${this.pick(['isQuantity', 'isURL', 'isIP', 'isCIDR', 'isSemver'])}(${t('string', d)})`,
          (d) => `${t('quantity', d)}.${this.pick(['isGreaterThan', 'isLessThan'])}(${t('quantity', d)})`,
          (d) => `${t('quantity', d)}.isInteger()`,
          (d) =>
            `${t('ip', d)}.${this.pick(['isLoopback', 'isUnspecified', 'isGlobalUnicast', 'isLinkLocalUnicast', 'isLinkLocalMulticast'])}()`,
          (d) => `${t('cidr', d)}.containsIP(${t(this.pick(['ip', 'string']), d)})`,
          (d) => `${t('cidr', d)}.containsCIDR(${t(this.pick(['cidr', 'string']), d)})`,
          (d) => `${this.group('type', d)} == ${this.group('type', d)}`,
          (d) =>
            `${this.group(this.pick(['quantity', 'ip', 'cidr', 'url', 'semver']), d)} == ${this.group(this.pick(['quantity', 'ip', 'cidr', 'url', 'semver']), d)}`,
        ];
      case 'string':
        return [
          binary('string', '+'),
          (d) => `string(${t(this.pick([...scalars, 'ip', 'cidr']), d)})`,
          (d) => `${t('string', d)}.${this.pick(['lowerAscii', 'upperAscii', 'trim'])}()`,
          (d) => `${t('string', d)}.charAt(${t('int', d)})`,
          (d) => `${t('string', d)}.substring(${t('int', d)})`,
          (d) => `${t('string', d)}.substring(${t('int', d)}, ${t('int', d)})`,
          (d) =>
            `${t('string', d)}.replace(${t('string', d)}, ${t('string', d)}${this.random(2) ? '' : `, ${t('int', d)}`})`,
          (d) => `${t('list(string)', d)}.join(${this.random(2) ? '' : t('string', d)})`,
          (d) => `${t('string', d)}.find(${this.pick(["'[a-z]+'", "'l+'", "'x*'", 's'])})`,
          (d) => `strings.quote(${t('string', d)})`,
          (d) => {
            const each = this.type();
            return `${this.pick(["'%s'", "'<%s> %%'", "'%d'", "'%f'", "'%.2f'", "'%e'", "'%x'", "'%X'", "'%b'", "'%o'", "'%s %s'"])}.format([${t(each, d)}])`;
          },
          (d) => `${t('list(string)', d)}.${this.pick(['min', 'max'])}()`,
          (d) => `${t('url', d)}.${this.pick(['getScheme', 'getHost', 'getHostname', 'getPort', 'getEscapedPath'])}()`,
        ];
      case 'bytes':
        return [binary('bytes', '+'), (d) => `bytes(${t(this.pick(['string', 'bytes']), d)})`];
      case 'timestamp':
        return [
          (d) => `${this.group('timestamp', d)} ${this.pick(['+', '-'])} ${this.group('duration', d)}`,
          (d) => `timestamp(${t(this.pick(['string', 'int', 'timestamp']), d)})`,
        ];
      case 'duration':
        return [
          binary('duration', '+', '-'),
          binary('timestamp', '-'),
          (d) => `duration(${t(this.pick(['string', 'duration']), d)})`,
        ];
      case 'ip':
        return [(d) => `ip(${t('string', d)})`, (d) => `${t('cidr', d)}.ip()`];
      case 'cidr':
        return [(d) => `cidr(${t('string', d)})`, (d) => `${t('cidr', d)}.masked()`];
      case 'quantity':
        return [
          (d) => `quantity(${t('string', d)})`,
          (d) => `${t('quantity', d)}.${this.pick(['add', 'sub'])}(${t(this.pick(['quantity', 'int']), d)})`,
        ];
      case 'url':
        return [(d) => `url(${t('string', d)})`];
      case 'semver':
        return [(d) => `semver(${t('string', d)}, ${t('bool', d)})`];
      case 'type':
        return [(d) => `type(${t(this.type(), d)})`];
      default:
        return this.compoundRules(type);
    }
  }

  compoundRules(type) {
    const t = (each, depth) => this.make(each, depth);
    const [, name, inner] = /^(\w+)\((.*)\)$/.exec(type) ?? [];
    if (name === 'list') {
      return [
        (d) => `[${Array.from({ length: this.random(4) }, () => t(inner, d)).join(', ')}]`,
        (d) => `${this.group(type, d)} + ${this.group(type, d)}`,
        (d) => `[?${t(`optional(${inner})`, d)}, ${t(inner, d)}]`,
        (d) => {
          const [list, variable, body] = this.over(this.pick(scalars), d, () => t(inner, d));
          return `${list}.map(${variable}, ${body})`;
        },
        (d) => {
          const [list, variable, body] = this.over(inner, d, () => t('bool', d));
          return `${list}.filter(${variable}, ${body})`;
        },
        (d) =>
          `${t(type, d)}.${this.pick(['reverse()', 'distinct()', 'sort()', 'slice(0, 2)', 'flatten()', `slice(${t('int', d)}, ${t('int', d)})`])}`,
        (d) => {
          const [list, variable, body] = this.over(inner, d, () => t(this.pick(['int', 'string', 'double']), d));
          return `${list}.sortBy(${variable}, ${body})`;
        },
        (d) => `${t(type, d)}.transformList(p, r, r)`,
        (d) =>
          inner === 'string'
            ? `${t('string', d)}.split(${t('string', d)}${this.random(2) ? '' : `, ${t('int', d)}`})`
            : t(type, d),
        (d) => (inner === 'string' ? `${t('string', d)}.findAll(${this.pick(["'[a-z]'", "'l*'"])})` : t(type, d)),
        (d) => (inner === 'int' ? `lists.range(${this.random(6)})` : t(type, d)),
        (d) => (inner === 'string' ? `${t('url', d)}.getQuery().x` : t(type, d)),
      ];
    }
    if (name === 'map') {
      const [key, value] = [inner.slice(0, inner.indexOf(',')), inner.slice(inner.indexOf(',') + 1)];
      return [
        (d) => `{${t(key, d)}: ${t(value, d)}}`,
        (d) => `{?${t(key, d)}: ${t(`optional(${value})`, d)}}`,
        (d) => (key === 'int' ? `[${t(value, d)}].transformMap(p, r, r)` : t(type, d)),
        (d) => `[${t(key, d)}].transformMapEntry(p, r, {r: ${t(value, d)}})`,
      ];
    }
    if (name === 'optional') {
      return [
        (d) => `optional.of(${t(inner, d)})`,
        (d) => `optional.ofNonZeroValue(${t(inner, d)})`,
        (d) => `${t(`list(${inner})`, d)}[?${t('int', d)}]`,
        (d) => `${t(`map(string,${inner})`, d)}.?${this.pick(['a', 'b'])}`,
        (d) => `${t(type, d)}.or(${t(type, d)})`,
        (d) => `${t(`list(${inner})`, d)}.${this.pick(['first', 'last'])}()`,
        (d) => {
          const name = `v${this.names++ % 5}`;
          const from = this.pick(scalars);
          const target = t(`optional(${from})`, d);
          this.locals.push({ name, type: from });
          const body = t(inner, d);
          this.locals.pop();
          return `${target}.optMap(${name}, ${body})`;
        },
      ];
    }
    return [];
  }

  macro(name, depth) {
    const [list, variable, body] = this.over(this.pick(scalars), depth, () => this.make('bool', depth));
    return `${list}.${name}(${variable}, ${body})`;
  }

  group(type, depth) {
    const text = this.make(type, depth);
    return /^[\w.'"]+$/.test(text) ? text : `(${text})`;
  }
}
