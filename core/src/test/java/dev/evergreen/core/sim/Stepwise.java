package dev.evergreen.core.sim;

import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeModel;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.Set;

/**
 * Changes a class so that its code tells {@link Monitors} which it takes and gives back, and where
 * it uses what threads share without one.
 */
final class Stepwise {

  private static final ClassDesc MONITORS = Monitors.class.describeConstable().orElseThrow();
  private static final MethodTypeDesc NOTHING = MethodTypeDesc.of(ConstantDescs.CD_void);

  /** Besides lambdas, what a concurrent map may call while it holds a lock of its own. */
  private static final Set<String> CALLBACKS = Set.of("<init>", "equals", "hashCode", "compareTo");

  private Stepwise() {}

  static byte[] changed(byte[] original) {
    var file = ClassFile.of();
    var model = file.parse(original);
    var type = model.thisClass().asSymbol();
    return file.transformClass(
        model,
        (builder, element) -> {
          if (!(element instanceof MethodModel method) || method.code().isEmpty()) {
            builder.with(element);
          } else if (method.flags().has(AccessFlag.SYNCHRONIZED)) {
            split(builder, type, method);
          } else {
            builder.transformMethod(method, MethodTransform.transformingCode(telling(method)));
          }
        });
  }

  private static CodeTransform telling(MethodModel method) {
    var name = method.methodName().stringValue();
    boolean callback = name.startsWith("lambda$") || CALLBACKS.contains(name);
    return (code, element) -> {
      if (element instanceof MonitorInstruction monitor) {
        tell(code, monitor);
      } else {
        if (!callback && element instanceof InvokeInstruction invoke && isShared(invoke)) {
          code.invokestatic(MONITORS, "pass", NOTHING);
        }
        code.with(element);
      }
    };
  }

  private static void tell(CodeBuilder code, MonitorInstruction monitor) {
    if (monitor.opcode() == Opcode.MONITORENTER) {
      code.invokestatic(MONITORS, "take", NOTHING).with(monitor);
    } else {
      code.with(monitor).invokestatic(MONITORS, "giveBack", NOTHING);
    }
  }

  /** Whether an object is called that threads may share without a monitor. */
  private static boolean isShared(InvokeInstruction invoke) {
    var owner = invoke.owner().asInternalName();
    boolean method =
        invoke.opcode() == Opcode.INVOKEVIRTUAL || invoke.opcode() == Opcode.INVOKEINTERFACE;
    return method && isConcurrent(owner);
  }

  private static boolean isConcurrent(String owner) {
    return owner.startsWith("java/util/concurrent/")
        || owner.equals("java/util/Map")
        || owner.equals("java/util/Queue");
  }

  /** A synchronized method becomes one that tells, and calls one that is synchronized. */
  private static void split(ClassBuilder builder, ClassDesc type, MethodModel method) {
    var inner = method.methodName().stringValue() + "$synchronized";
    builder.withMethod(
        inner,
        method.methodTypeSymbol(),
        ClassFile.ACC_PRIVATE | ClassFile.ACC_SYNCHRONIZED | ClassFile.ACC_SYNTHETIC,
        copy -> {
          for (var element : method) {
            if (element instanceof CodeModel code) {
              copy.transformCode(code, telling(method));
            }
          }
        });
    int flags = method.flags().flagsMask() & ~ClassFile.ACC_SYNCHRONIZED;
    builder.withMethod(
        method.methodName().stringValue(),
        method.methodTypeSymbol(),
        flags,
        outer -> outer.withCode(code -> callTelling(code, type, inner, method.methodTypeSymbol())));
  }

  private static void callTelling(
      CodeBuilder code, ClassDesc type, String inner, MethodTypeDesc signature) {
    code.invokestatic(MONITORS, "take", NOTHING);
    code.trying(
        body -> {
          body.aload(0);
          int slot = 1;
          for (var parameter : signature.parameterList()) {
            var kind = TypeKind.from(parameter);
            body.loadLocal(kind, slot);
            slot += kind.slotSize();
          }
          body.invokevirtual(type, inner, signature)
              .invokestatic(MONITORS, "giveBack", NOTHING)
              .return_(TypeKind.from(signature.returnType()));
        },
        handlers ->
            handlers.catchingAll(
                thrown -> thrown.invokestatic(MONITORS, "giveBack", NOTHING).athrow()));
  }
}
