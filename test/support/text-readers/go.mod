module text-readers

go 1.26.0

require (
	github.com/compose-spec/compose-go/v2 v2.9.0
	github.com/joho/godotenv v1.5.1
)

require (
	github.com/sirupsen/logrus v1.9.0 // indirect
	golang.org/x/sys v0.5.0 // indirect
)
