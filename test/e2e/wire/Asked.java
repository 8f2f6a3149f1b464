import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;

/** pgjdbc asks the statements of its input, which end with NUL. Arguments: port, key. Prints a line of values, with tabs, for each row. */
public class Asked {
  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    properties.put("user", "analyst");
    properties.put("password", arguments[1]);
    properties.put("options", "-c sotto.epsilon=1 -c sotto.half_widths=on");
    // From the second execution on, statements are prepared, and results are binary.
    properties.put("prepareThreshold", "2");
    String statements = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    try (Connection connection = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + arguments[0] + "/sotto", properties)) {
      connection.setReadOnly(true);
      connection.setAutoCommit(false);
      for (String sql : statements.split("\0"))
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
          statement.setFetchSize(2);
          statement.setMaxRows(1048575);
          for (int run = 0; run < 3; run++) {
            StringBuilder rows = new StringBuilder();
            ResultSet found = statement.executeQuery();
            int columns = found.getMetaData().getColumnCount();
            while (found.next()) {
              for (int column = 1; column <= columns; column++) rows.append(shown(found.getObject(column))).append('\t');
              rows.append('\n');
            }
            System.out.print(rows + "\0");
          }
        }
    }
  }

  private static String shown(Object value) {
    return value instanceof Timestamp ? ((Timestamp) value).toInstant().toString() : String.valueOf(value);
  }
}
