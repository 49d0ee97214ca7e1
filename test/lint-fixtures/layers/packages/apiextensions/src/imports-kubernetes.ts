import '../../kubernetes/src/index.ts';
