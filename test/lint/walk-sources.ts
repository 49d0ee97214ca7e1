// Resolves the hops of the walk in the sources, with the TypeScript compiler.
import { join } from 'node:path';
import ts from 'typescript';
import type { Hop } from './walk-table.ts';

type Named = ts.Declaration & { readonly name: ts.Node };

/** A call in the body of a declaration. `isHandedOn`: it is in a function within that body. */
interface Call {
  readonly node: ts.CallExpression;
  readonly isHandedOn: boolean;
}

/** Which calls of a function count: its own, those in functions that it hands on, or both. */
type Where = 'own' | 'handed on' | 'any';

export class WalkSources {
  readonly #root: string;
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;
  readonly #callsIn = new Map<ts.Node, readonly Call[]>();

  constructor(root: string, files: readonly string[]) {
    this.#root = root;
    const config = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile).config as object;
    const { options } = ts.parseJsonConfigFileContent({ ...config, files }, ts.sys, root);
    const rootNames = files.map((file) => join(root, file));
    this.#program = ts.createProgram({ rootNames, options: { ...options, composite: false, noEmit: true } });
    this.#checker = this.#program.getTypeChecker();
  }

  find({ file, name }: Pick<Hop, 'file' | 'name'>): ts.Declaration | undefined {
    const source = this.#program.getSourceFile(join(this.#root, file));
    return source && declarationIn(source, name);
  }

  /** Describes why the caller does not call the hop in the way that its row states. Undefined = it does. */
  problemOf(caller: Hop, hop: Hop, where: Where = hop.isHandedOn ? 'handed on' : 'own'): string | undefined {
    const { through } = hop;
    const [from, to] = [this.find(caller), this.find(hop)];
    if (from === undefined || to === undefined) return `${from === undefined ? caller.name : hop.name} does not exist`;
    if (through.startsWith('wire:') || through === 'as there') return undefined;
    if (through.startsWith('awaits ')) return this.#problemOfTaking(caller, to, through.slice('awaits '.length));
    if (through === '')
      return this.#callsOf(from, where).some((call) => this.#isCallOf(call, to)) ? undefined : 'there is no such call';
    const calls = this.#callsOf(from, where);
    return this.#isThroughInterface(calls, to, through) || this.#isThroughType(calls, to, through)
      ? undefined
      : `there is no such call through ${through}`;
  }

  /** Describes why a function does not call the first of these, or one of these the next. They may be called through an interface. */
  problemOfAside(hop: Hop, chain: readonly string[]): string | undefined {
    let from: readonly ts.Declaration[] = [this.find(hop)].filter((declaration) => declaration !== undefined);
    let caller = hop.name;
    for (const aside of chain) {
      const found = this.#sources()
        .map((source) => declarationIn(source, aside))
        .filter((declaration) => declaration !== undefined);
      if (from.length === 0 || found.length === 0) return `${aside} does not exist`;
      const calls = from.flatMap((declaration) => this.#callsOf(declaration, 'own'));
      const isCalled = calls.some((call) =>
        found.some((to) => this.#isCallOf(call, to) || this.#isImplemented(call, to)),
      );
      if (!isCalled) return `${caller} does not call ${aside}`;
      [from, caller] = [found, aside];
    }
    return undefined;
  }

  #sources(): readonly ts.SourceFile[] {
    return this.#program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(join(this.#root, 'packages')));
  }

  #callsOf(declaration: ts.Declaration, where: Where): readonly ts.CallExpression[] {
    const known = this.#callsIn.get(declaration) ?? callsIn(declaration);
    this.#callsIn.set(declaration, known);
    return known
      .filter(({ isHandedOn }) => where === 'any' || isHandedOn === (where === 'handed on'))
      .map(({ node }) => node);
  }

  #declarationsOf(node: ts.Node): readonly ts.Declaration[] {
    const symbol = this.#checker.getSymbolAtLocation(node);
    if (symbol === undefined) return [];
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return (isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol).declarations ?? [];
  }

  #called(call: ts.CallExpression): readonly ts.Declaration[] {
    const { expression } = call;
    return this.#declarationsOf(ts.isPropertyAccessExpression(expression) ? expression.name : expression);
  }

  #isCallOf(call: ts.CallExpression, to: ts.Declaration): boolean {
    return this.#called(call).includes(to);
  }

  /** Returns whether the call is of a member of an interface of this name, which the hop's class implements. */
  #isThroughInterface(calls: readonly ts.CallExpression[], to: ts.Declaration, name: string): boolean {
    return (
      ts.isClassLike(to.parent) &&
      this.#supertypesOf(to.parent).has(name) &&
      calls.some((call) => this.#isImplemented(call, to, name))
    );
  }

  /** `name`: of the interface. Default: any that the class of `to` implements. */
  #isImplemented(call: ts.CallExpression, to: ts.Declaration, name?: string): boolean {
    if (!ts.isClassLike(to.parent)) return false;
    const implemented = this.#supertypesOf(to.parent);
    return this.#called(call).some((member) => {
      if (nameOf(member) !== nameOf(to)) return false;
      const owner = member.parent;
      if (!ts.isInterfaceDeclaration(owner) && !ts.isClassLike(owner)) return false;
      const owners = [nameOf(owner), ...(ts.isClassLike(owner) ? this.#supertypesOf(owner) : [])];
      return owners.some((each) => (name === undefined ? implemented.has(each) : each === name));
    });
  }

  /** Returns the names of the types that a class extends and implements, and of those that these extend. */
  #supertypesOf(declaration: ts.ClassLikeDeclaration | ts.InterfaceDeclaration): ReadonlySet<string> {
    const names = new Set<string>();
    for (const clause of declaration.heritageClauses ?? [])
      for (const type of clause.types) {
        names.add(type.expression.getText());
        // In Required<Store>, the argument is the implemented type.
        for (const argument of type.typeArguments ?? [])
          if (ts.isTypeReferenceNode(argument)) names.add(argument.typeName.getText());
        for (const base of this.#declarationsOf(type.expression))
          if (ts.isClassLike(base) || ts.isInterfaceDeclaration(base))
            for (const name of this.#supertypesOf(base)) names.add(name);
      }
    return names;
  }

  /** Returns whether the call is of a value of this function type, and the hop is given where that type is expected. */
  #isThroughType(calls: readonly ts.CallExpression[], to: ts.Declaration, name: string): boolean {
    const isOfType = (node: ts.Expression): boolean => this.#aliasOf(this.#checker.getTypeAtLocation(node)) === name;
    if (!calls.some(({ expression }) => isOfType(expression))) return false;
    const { type } = to as { type?: ts.TypeNode };
    if (ts.isPropertyDeclaration(to))
      return type !== undefined && this.#aliasOf(this.#checker.getTypeFromTypeNode(type)) === name;
    return this.#sources().some((source) => this.#givesAs(source, to, name));
  }

  #givesAs(source: ts.SourceFile, to: ts.Declaration, name: string): boolean {
    const text = nameOf(to);
    if (!source.text.includes(text)) return false;
    const visit = (node: ts.Node): boolean => {
      if (ts.isIdentifier(node) && node.text === text && this.#declarationsOf(node).includes(to) && !isCallee(node)) {
        const expected = this.#checker.getContextualType(node);
        if (expected !== undefined && this.#aliasOf(expected) === name) return true;
      }
      return ts.forEachChild(node, visit) ?? false;
    };
    return visit(source);
  }

  #aliasOf(type: ts.Type): string | undefined {
    return this.#checker.getNonNullableType(type).aliasSymbol?.name ?? type.aliasSymbol?.name;
  }

  /** Returns the reason why the hop does not take the output of the caller's class, whose method it must call. */
  #problemOfTaking(caller: Hop, to: ts.Declaration, method: string): string | undefined {
    if (method.split('.')[0] !== caller.name.split('.')[0]) return `${caller.name} is not of the class of ${method}`;
    const given = this.find({ file: caller.file, name: method });
    if (given === undefined) return `${method} does not exist`;
    return this.#callsOf(to, 'own').some((call) => this.#isCallOf(call, given)) ? undefined : `${method} is not called`;
  }
}

function callsIn(declaration: ts.Declaration): readonly Call[] {
  const calls: Call[] = [];
  const visit = (node: ts.Node, isHandedOn: boolean): void => {
    if (ts.isCallExpression(node)) calls.push({ node, isHandedOn });
    const isInner = isHandedOn || (ts.isFunctionLike(node) && !isExecutor(node));
    ts.forEachChild(node, (child) => visit(child, isInner));
  };
  // A property may be a function itself, as `readonly #process = (…) => …`.
  const { initializer } = declaration as { initializer?: ts.Expression };
  const whole = initializer !== undefined && ts.isFunctionLike(initializer) ? initializer : declaration;
  ts.forEachChild(whole, (child) => visit(child, false));
  return calls;
}

/** A promise calls its executor at once. */
function isExecutor({ parent }: ts.Node): boolean {
  return ts.isNewExpression(parent) && parent.expression.getText() === 'Promise';
}

function nameOf(declaration: ts.Declaration): string {
  return (declaration as Partial<Named>).name?.getText() ?? '';
}

function isCallee(node: ts.Node): boolean {
  return ts.isCallExpression(node.parent) && node.parent.expression === node;
}

function declarationIn(source: ts.SourceFile, name: string): ts.Declaration | undefined {
  const [owner = '', member] = name.split('.');
  for (const statement of source.statements) {
    if (ts.isFunctionDeclaration(statement) && member === undefined && nameOf(statement) === owner && statement.body)
      return statement;
    if (ts.isClassDeclaration(statement) && member !== undefined && nameOf(statement) === owner)
      return statement.members.find((each) => nameOf(each) === member);
  }
  return undefined;
}
