import '../../client/src/index.ts';
